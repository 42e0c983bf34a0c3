import * as assert from 'node:assert/strict';
import * as path from 'node:path';
import { CompileCommands, compileFlags, parseDefine, shellWords } from '../../../server/src/workspace/compile-commands';
import { temporaryFolder } from '../../host/bundle';

describe('compile commands', () => {
  it('cuts a command into words as a shell does', () => {
    const check = (command: string, ...words: string[]) => assert.deepEqual(shellWords(command), words);
    check('nvcc -c a.cu', 'nvcc', '-c', 'a.cu');
    check(`nvcc "-DNAME=\\"a b\\"" 'x y' z\\ w`, 'nvcc', '-DNAME="a b"', 'x y', 'z w');
    check('  ');
  });
  it('reads include folders and macros in every spelling', () => {
    const words = [
      'nvcc',
      '-Ia',
      '-I',
      'b',
      '-isystem=/c',
      '-isystem',
      'd',
      '--include-path',
      'e,f',
      '-DA',
      '-D',
      'B=2',
      '--define-macro=C=3',
    ];
    const { includePaths, defines } = compileFlags(words, '/root');
    assert.deepEqual(
      includePaths,
      ['a', 'b', '/c', 'd', 'e', 'f'].map((each) => path.resolve('/root', each)),
    );
    assert.deepEqual(
      [...defines],
      [
        ['A', '1'],
        ['B', '2'],
        ['C', '3'],
      ],
    );
  });
  it('reads the bound of registers in every spelling', () => {
    for (const words of [
      ['-maxrregcount=40'],
      ['--maxrregcount', '40'],
      ['-maxrregcount', '40', '-DA'],
      ['-DA', '--maxrregcount=40'],
    ])
      assert.equal(compileFlags(words, '/root').maxRegisters, 40, words.join(' '));
    assert.equal(compileFlags(['-DA'], '/root').maxRegisters, undefined);
    assert.equal(compileFlags(['-maxrregcount=many'], '/root').maxRegisters, undefined);
  });
  it('reads a define as the compiler does', () => {
    assert.deepEqual(parseDefine('N'), ['N', '1']);
    assert.deepEqual(parseDefine('N='), ['N', '']);
    assert.deepEqual(parseDefine('F(x)=x==1'), ['F(x)', 'x==1']);
  });
  it('gives a file its own flags, a header those of its folder, and complains of what is no JSON', () => {
    const { folder, remove } = temporaryFolder({
      'compile_commands.json': JSON.stringify([
        { directory: '.', file: 'b/b.cu', command: 'nvcc -DB b/b.cu' },
        { directory: '.', file: 'a/a.cu', arguments: ['nvcc', '-DA', 'a/a.cu'] },
        null,
        { file: 3 },
      ]),
      'bad.json': '{',
    });
    const complaints: string[] = [];
    const commands = new CompileCommands((line) => complaints.push(line));
    const database = path.join(folder, 'compile_commands.json');
    const macros = (file: string) => [...commands.flagsFor(path.join(folder, file), [database]).defines.keys()];
    assert.deepEqual(macros('a/a.cu'), ['A']);
    assert.deepEqual(macros('a/other.cuh'), ['A']);
    assert.deepEqual(macros('elsewhere.cu'), ['B']);
    assert.equal(
      commands.flagsFor('x.cu', [path.join(folder, 'bad.json'), path.join(folder, 'none.json')]).defines.size,
      0,
    );
    assert.equal(complaints.length, 1);
    remove();
  });
});
