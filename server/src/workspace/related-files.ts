/**
 * Which files of the workspace belong to a file's program: the source that includes a header, and sources that call or launch what
 * a file defines. Files near it come first: repositories hold many small programs with the same names.
 */
import * as path from 'node:path';
import { hasHash, hashOf, type SourceFacts, sourceFacts } from './source-facts';
import { filesUnder, sharedFolders } from './source-tree';
import type { TextCache } from './text-files';

/** Files that are compiled on their own. */
const compiledFile = /\.(?:cu|c|cpp|cc|cxx|c\+\+)$/i;
const readFile = /\.(?:cuh?|c|cpp|cc|cxx|c\+\+|h|hh|hpp|hxx|inl|inc|ipp|tpp)$/i;

/** Files that are looked through for what belongs to one file, and characters of one that is (larger ones are generated). */
const mostFiles = 3_000;
const mostCharacters = 1024 * 1024;
/** Includers between a header and the source that brings it in. */
const includeDepth = 6;

interface KnownFacts {
  readonly text: string;
  readonly facts: SourceFacts;
}

export class RelatedFiles {
  private files: { readonly key: string; readonly at: number; readonly list: readonly string[] } | undefined;
  private fresh = 0;
  private readonly facts = new Map<string, { readonly at: number; readonly known: KnownFacts | undefined }>();

  /**
   * @param open texts of open documents by absolute path; they win over the disk
   * @param now a clock in milliseconds; what was read from the disk is looked at again after `maxAgeMs`
   */
  constructor(
    private readonly texts: TextCache,
    private readonly open: ReadonlyMap<string, string>,
    private readonly now: () => number = Date.now,
    private readonly maxAgeMs = 15_000,
    /** Characters that one question may read anew; a later one goes on from there. */
    private readonly mostFresh = 16 * 1024 * 1024,
  ) {}

  /**
   * The source file through which a header is compiled: includes it, by way of other headers perhaps, and mentions most of the
   * names; of several the nearest. Undefined where nobody includes it.
   */
  rootOf(file: string, names: readonly string[], folders: readonly string[]): string | undefined {
    const near = this.nearFirst(file, folders);
    const own = path.dirname(file).split(path.sep).length;
    for (let count = 0; count < near.length; ) {
      // one more folder up; a source is included from its own folder, if at all
      const shared = sharedFolders(near[count], file);
      if (compiledFile.test(file) && shared < own) return undefined;
      while (count < near.length && sharedFolders(near[count], file) === shared) count++;
      const roots = this.rootsAmong(near.slice(0, count), file);
      if (roots.length > 0) return this.mostMentioning(roots, names, file);
    }
    return undefined;
  }

  private rootsAmong(files: readonly string[], file: string): string[] {
    const reached = new Set([file]);
    let level = [file];
    for (let depth = 0; depth < includeDepth && level.length > 0; depth++) {
      const next = files.filter((each) => !reached.has(each) && level.some((header) => this.includes(each, header)));
      for (const each of next) reached.add(each);
      const roots = next.filter((each) => compiledFile.test(each));
      if (roots.length > 0) return roots;
      level = next;
    }
    return [];
  }

  private mostMentioning(files: readonly string[], names: readonly string[], file: string): string | undefined {
    const wanted = names.map(hashOf);
    const score = (each: string) =>
      wanted.filter((hash) => this.mentions(each, hash)).length * 64 + sharedFolders(each, file);
    return files.reduce((a, b) => (score(a) >= score(b) ? a : b));
  }

  /**
   * Sources that mention one of the names, or include a header that calls it, nearest first, unless a nearer file than this one defines what they
   * mention.
   * @param known files of the program that are found already, by absolute path: what these define is the program's own
   */
  *users(
    file: string,
    names: readonly string[],
    folders: readonly string[],
    known: ReadonlySet<string> = new Set(),
  ): Generator<{ readonly path: string; readonly text: string; readonly distance: number }> {
    const near = this.nearFirst(file, folders);
    const wanted = names.map(hashOf);
    const depth = path.dirname(file).split(path.sep).length;
    const told = new Set([file]);
    for (const each of near) {
      const isSource = compiledFile.test(each);
      const facts = this.factsOf(each)?.facts;
      const words = isSource ? facts?.words : facts?.called;
      if (told.has(each) || !facts || !words) continue;
      const mentioned = wanted.filter((hash) => hasHash(words, hash) && !hasHash(facts.defined, hash));
      if (!mentioned.some((hash) => !this.isDefinedNearer(hash, each, file, near, known))) continue;
      for (const source of isSource ? [each] : this.rootsAmong(near, each)) {
        const text = told.has(source) ? undefined : this.factsOf(source)?.text;
        told.add(source);
        if (text !== undefined)
          yield { path: source, text, distance: Math.max(0, depth - sharedFolders(source, file)) };
      }
    }
  }

  /** Sources that define a function or a variable of one of the names, nearest first. */
  *definers(
    file: string,
    names: readonly string[],
    folders: readonly string[],
  ): Generator<{ readonly path: string; readonly text: string; readonly distance: number }> {
    const wanted = names.map(hashOf);
    const depth = path.dirname(file).split(path.sep).length;
    for (const each of this.nearFirst(file, folders)) {
      if (each === file || !compiledFile.test(each)) continue;
      const known = this.factsOf(each);
      if (!known) continue;
      const { defined, variables } = known.facts;
      if (!wanted.some((hash) => hasHash(defined, hash) || hasHash(variables, hash))) continue;
      yield { path: each, text: known.text, distance: Math.max(0, depth - sharedFolders(each, file)) };
    }
  }

  /** Another file defines the function and is nearer to its user. */
  private isDefinedNearer(
    hash: number,
    user: string,
    file: string,
    near: readonly string[],
    known: ReadonlySet<string>,
  ): boolean {
    const own = sharedFolders(user, file);
    return near.some((other) => {
      if (other === user || other === file || known.has(other) || sharedFolders(user, other) <= own) return false;
      const facts = this.factsOf(other);
      return facts !== undefined && hasHash(facts.facts.defined, hash);
    });
  }

  private includes(file: string, header: string): boolean {
    const name = path.basename(header);
    const written = this.factsOf(file)?.facts.includes.filter((each) => path.basename(each) === name) ?? [];
    return written.some(
      (each) =>
        path.resolve(path.dirname(file), each) === header ||
        header.endsWith(path.sep + path.normalize(each).replace(/^(?:\.\.[\\/])+/, '')),
    );
  }

  private mentions(file: string, hash: number): boolean {
    const facts = this.factsOf(file);
    return facts !== undefined && hasHash(facts.facts.words, hash);
  }

  /** Files of the folders, those that share the most leading folders with one first; as many as may be looked through. */
  private nearFirst(file: string, folders: readonly string[]): string[] {
    this.fresh = 0;
    const key = folders.join('\n');
    if (this.files?.key !== key || this.now() - this.files.at > this.maxAgeMs) {
      const list = [...new Set(folders.flatMap((folder) => [...filesUnder(folder, readFile)]))];
      this.files = { key, at: this.now(), list };
    }
    const ranked = this.files.list.map((each) => ({ each, shared: sharedFolders(each, file) }));
    ranked.sort((a, b) => b.shared - a.shared || (a.each < b.each ? -1 : 1));
    return ranked.slice(0, mostFiles).map(({ each }) => each);
  }

  private factsOf(file: string): KnownFacts | undefined {
    const before = this.facts.get(file);
    const unsaved = this.open.get(file);
    if (before && unsaved === undefined && this.now() - before.at <= this.maxAgeMs) return before.known;
    if (!before && unsaved === undefined && this.fresh > this.mostFresh) return undefined;
    const text = unsaved ?? this.texts.read(file);
    const known = text === undefined || text.length > mostCharacters ? undefined : this.read(text, before?.known);
    this.facts.set(file, { at: this.now(), known });
    return known;
  }

  private read(text: string, before: KnownFacts | undefined): KnownFacts {
    if (before?.text === text) return before;
    this.fresh += text.length;
    return { text, facts: sourceFacts(text) };
  }
}
