/** Launches of a source text in a readable form: `k<float> <<<(4,1,1),(256,1,1),0>>>(d_a, ?n)`. */
import assert from 'node:assert/strict';
import type { DeviceProperties } from '../../../server/src/hardware/device-properties';
import { findLaunches } from '../../../server/src/launch/find-launches';
import type { FoundLaunch } from '../../../server/src/launch/found-launch';
import type { HostTemplateArgument, HostTriple, HostValue } from '../../../server/src/launch/host-value';
import type { TypeNode } from '../../../server/src/parse/ast';
import { parse } from '../../../server/src/parse/parse';
import { renumber } from '../../../server/src/parse/renumber';
import { preprocess } from '../../../server/src/preprocess/preprocess';

export function launchesOf(
  text: string,
  assume: Readonly<Record<string, number>> = {},
  steps?: number,
  device?: DeviceProperties,
  rounds?: number,
): readonly FoundLaunch[] {
  const source = preprocess({ path: 'test.cu', text, defines: new Map(), include: () => undefined });
  const unit = parse(source.tokens, source.pragmas);
  return findLaunches(unit, source.tokens, source.comments, {
    assume: new Map(Object.entries(assume)),
    steps,
    device,
    rounds,
  });
}

/** Launches of the kernels of a text that is linked with another. */
export function linkedLaunchesOf(text: string, other: string): readonly FoundLaunch[] {
  const read = (path: string, of: string) => {
    const { tokens, pragmas, comments } = preprocess({ path, text: of, defines: new Map(), include: () => undefined });
    return { tokens, comments, unit: parse(tokens, pragmas) };
  };
  const [own, linked] = [read('test.cu', text), read('other.cu', other)];
  const base = 2 ** 24;
  renumber(linked.unit.declarations, base);
  const others = [{ base, tokens: linked.tokens, declarations: linked.unit.declarations }];
  return findLaunches(own.unit, own.tokens, own.comments, { assume: new Map(), others });
}

/** The launches of a text, in order. `kernel` declares `k` when the text does not. */
export function check(text: string, ...expected: string[]): void {
  assert.deepEqual(launchesOf(withKernel(text)).map(show), expected);
}

/** The same with `main` around the statements. */
export function checkMain(body: string, ...expected: string[]): void {
  check(`int main(int argc, char** argv) { ${body} }`, ...expected);
}

export function checkAssuming(assume: Readonly<Record<string, number>>, text: string, ...expected: string[]): void {
  assert.deepEqual(launchesOf(withKernel(text), assume).map(show), expected);
}

export function withKernel(text: string): string {
  return /\bvoid\s+k\s*\(/.test(text) ? text : `__global__ void k(...);\n${text}`;
}

export function show(launch: FoundLaunch): string {
  const { kernel, templateArguments, grid, block, dynamicSharedBytes } = launch;
  const template = templateArguments.length > 0 ? `<${templateArguments.map(showTemplate).join(', ')}>` : '';
  const list = launch.arguments.map(showValue).join(', ');
  return `${kernel.parts.join('::')}${template} <<<${showTriple(grid)},${showTriple(block)},${showValue(dynamicSharedBytes)}>>>(${list})`;
}

function showTriple(triple: HostTriple): string {
  return `(${triple.map(showValue).join(',')})`;
}

export function showValue(value: HostValue): string {
  switch (value.kind) {
    case 'number':
      return String(value.value);
    case 'pointer':
      return value.offsetBytes === 0 ? value.allocation : `${value.allocation}+${value.offsetBytes}`;
    case 'struct':
      return `{${[...value.fields].map(([name, field]) => `${name}: ${showValue(field)}`).join(', ')}}`;
    case 'array':
      return `[${value.elements.map(showValue).join(', ')}]`;
    case 'function':
      return value.name;
    case 'lambda':
      return `lambda(${[...value.captures].map(([name, inner]) => `${name}: ${showValue(inner)}`).join(', ')})`;
    case 'string':
      return JSON.stringify(value.value);
    default:
      return `?${value.name ?? ''}`;
  }
}

function showTemplate(argument: HostTemplateArgument): string {
  return argument.kind === 'type' ? showType(argument.type) : showValue(argument.value);
}

function showType(type: TypeNode): string {
  if (type.kind === 'builtin') return type.name;
  if (type.kind === 'pointer') return `${showType(type.to)}*`;
  if (type.kind !== 'named') return type.kind;
  return type.name.parts
    .map(({ name, templateArguments }) => {
      if (!templateArguments) return name;
      const list = templateArguments.map(({ type: inner, expression }) =>
        inner ? showType(inner) : expression?.kind === 'integer' ? String(expression.value) : '?',
      );
      return `${name}<${list.join(', ')}>`;
    })
    .join('::');
}
