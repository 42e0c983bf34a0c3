import assert from 'node:assert/strict';
import { annotationNotes, parseAnnotation, readAnnotations } from '../../../server/src/launch/annotation';
import { launchBounds } from '../../../server/src/launch/constant';
import { indexUnit } from '../../../server/src/launch/scope';
import { parse } from '../../../server/src/parse/parse';
import { preprocess } from '../../../server/src/preprocess/preprocess';
import type { WarplensComment } from '../../../server/src/preprocess/token';
import { checkMain } from './support';

function comment(text: string): WarplensComment {
  return { file: 0, start: 0, end: text.length, keyword: 'warplens', hasColon: true, text, beforeToken: 0 };
}

/** Reads an annotation's text and writes it back in one form, notes behind it. */
function check(text: string, expected: string): void {
  const { annotation, notes } = parseAnnotation(comment(text), 0);
  const parts = [
    annotation.block && `block=${annotation.block.join('x')}`,
    annotation.grid && `grid=${annotation.grid.join('x')}`,
    annotation.dynamicSharedBytes !== undefined && `shared=${annotation.dynamicSharedBytes}`,
    annotation.registers !== undefined && `registers=${annotation.registers}`,
    ...[...annotation.values].map(([name, value]) => `${name}=${value}`),
    ...[...annotation.types].map(([name, type]) => `${name}=<${type}>`),
    ...notes.map((note) => `! ${text.slice(note.start, note.end)}: ${note.message}`),
  ];
  assert.equal(parts.filter(Boolean).join(' '), expected);
}

function analyse(text: string) {
  const source = preprocess({ path: 'test.cu', text, defines: new Map(), include: () => undefined });
  const unit = parse(source.tokens, source.pragmas);
  const functions = indexUnit(unit.declarations).functions;
  const kernels = functions.filter((entry) => entry.declaration.specifiers.isGlobal);
  return { source, functions, kernels };
}

function blocks(text: string): string[] {
  const { source, kernels } = analyse(text);
  const found = readAnnotations(kernels, source.comments);
  return kernels.map(
    (kernel) => `${kernel.declaration.name.parts[0].name} ${found.get(kernel)?.block?.join('x') ?? '-'}`,
  );
}

describe('annotations', () => {
  it('give shapes', () => {
    check('block=(32,8) grid=(64,64)', 'block=32x8x1 grid=64x64x1');
    check('block=256', 'block=256x1x1');
    check('block=32x8, grid=4x4x2', 'block=32x8x1 grid=4x4x2');
    check('block = ( 16 , 16 ) ; shared = 8192', 'block=16x16x1 shared=8192');
    check('shared=48K registers=40', 'shared=49152 registers=40');
  });
  it('give values and types', () => {
    check('n=4096 alpha=1.5f p.stride=0x20 m=1<<20', 'n=4096 alpha=1.5 p.stride=32 m=1048576');
    check(
      'T=float U=unsigned* V=std::pair<int,int> flag=true',
      'flag=1 T=<float> U=<unsigned*> V=<std::pair<int,int>>',
    );
  });
  it('say what is wrong in them', () => {
    check('block=0', "! block=0: block wants one to three positive numbers, for example block=(32,8), not '0'.");
    check(
      'block=(1,2,3,4) n=2',
      "n=2 ! block=(1,2,3,4): block wants one to three positive numbers, for example block=(32,8), not '(1,2,3,4)'.",
    );
    check('block=64x64', '! block=64x64: block=64x64 has 4096 threads: a block can have 1024.');
    check('what n=3', "n=3 ! what: 'what' is not understood: write name=value, for example block=(32,8) n=4096.");
    check('shared=lots', "! shared=lots: shared wants a whole number, not 'lots'.");
    check('', '');
  });
  it('stand before kernels', () => {
    assert.deepEqual(blocks('// warplens: block=64\n__global__ void a() {}\n__global__ void b() {}'), [
      'a 64x1x1',
      'b -',
    ]);
    assert.deepEqual(blocks('/* warplens: block=64 */\ntemplate <typename T>\n__global__ void a(T* p) {}'), [
      'a 64x1x1',
    ]);
    assert.deepEqual(blocks('template <typename T>\n// warplens: block=64\n__global__ void a(T* p) {}'), ['a 64x1x1']);
    assert.deepEqual(blocks('// warplens: block=64\n// warplens: n=3 block=32\n__global__ void a(int n) {}'), [
      'a 32x1x1',
    ]);
  });
  it('that do not fit are noted where they stand', () => {
    const text = '// warplens:  block=64 m=2\n__global__ void a(int n) {}\n// warplens: block=1\nint x;';
    const { source, functions, kernels } = analyse(text);
    const notes = annotationNotes(kernels, functions, source.comments, source.tokens.files);
    assert.deepEqual(
      notes.map((note) => `${text.slice(note.start, note.end)}: ${note.message}`),
      [
        "m: The kernel has no parameter 'm'.",
        '// warplens: block=1: No kernel follows this annotation: put it directly before a __global__ function.',
      ],
    );
  });
  it('inside of a host function give values to its variables', () => {
    checkMain(
      '\n// warplens: n=512\nint n = atoi(argv[1]); k<<<n / 256, 256>>>(n);',
      'k <<<(2,1,1),(256,1,1),0>>>(512)',
    );
  });
});

describe('launch bounds', () => {
  function bounds(text: string): unknown {
    return launchBounds(analyse(text).kernels[0].declaration);
  }
  it('are evaluated', () => {
    assert.deepEqual(bounds('__global__ void __launch_bounds__(256, 2) a() {}'), {
      maxThreads: 256,
      minBlocks: 2,
      maxBlocksPerCluster: undefined,
    });
    assert.deepEqual(bounds('#define T 64\n__global__ __launch_bounds__(T * 4) void a() {}'), {
      maxThreads: 256,
      minBlocks: undefined,
      maxBlocksPerCluster: undefined,
    });
    assert.equal(bounds('__global__ void a() {}'), undefined);
  });
});
