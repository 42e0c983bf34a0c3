/** Source positions of PTX instructions: the innermost line in the user's files, with the calls that lead to it. */

import type { SourcePlace } from '../program/program';
import type { PtxModule, SourceLocation } from './module';

/** Folders of toolkits, standard libraries and systems: their lines are charged to the line that calls them. */
const foreign = [
  /[/\\](cuda|nvcc|nvidia|hpc_sdk)[^/\\]*[/\\](.*[/\\])?(include|bin|crt|nvvm|targets)[/\\]/i,
  /NVIDIA GPU Computing Toolkit/i,
  /^\/usr\/(local\/)?(include|lib)\b/,
  /[/\\](VC|Windows Kits)[/\\]/,
  /[/\\]lib[/\\](gcc|clang)[/\\]/,
];

/** Whether a file named by PTX is the user's own. */
export function isUserFile(file: string): boolean {
  return !foreign.some((pattern) => pattern.test(file));
}

export class Places {
  private readonly known = new Map<SourceLocation, SourcePlace>();
  private readonly isUsers = new Map<number, boolean>();

  constructor(
    private readonly module: PtxModule,
    private readonly isOwn: (file: string) => boolean,
  ) {}

  of(location: SourceLocation | undefined): SourcePlace {
    if (!location) return nowhere;
    let place = this.known.get(location);
    if (!place) this.known.set(location, (place = this.make(location)));
    return place;
  }

  private make(location: SourceLocation): SourcePlace {
    for (let at: SourceLocation | undefined = location; at; at = at.inlinedAt) {
      if (this.isUsersFile(at.file)) return this.chain(at) ?? nowhere;
    }
    return this.chain(location) ?? nowhere;
  }

  private chain(location: SourceLocation | undefined, depth = 0): SourcePlace | undefined {
    if (!location || depth > 64) return undefined;
    const { line, column } = location;
    const call = this.chain(location.inlinedAt, depth + 1);
    return { first: -1, last: -1, location: { file: this.fileName(location.file), line, column }, call };
  }

  /** Whether a file of this name is the user's. */
  isOwnFile(file: string): boolean {
    return this.isOwn(file);
  }

  private fileName(file: number): string {
    return this.module.files.get(file) ?? '';
  }

  private isUsersFile(file: number): boolean {
    let is = this.isUsers.get(file);
    if (is === undefined) this.isUsers.set(file, (is = this.isOwn(this.fileName(file))));
    return is;
  }
}

const nowhere: SourcePlace = { first: -1, last: -1 };
