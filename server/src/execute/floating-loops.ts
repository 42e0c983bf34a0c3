/**
 * Loops over lanes for what kernels do most with floating-point numbers: the same as their scalar definitions (floating.ts), which a call for every lane
 * makes five times slower. Where kernels are executed for what they leave in memory, this is most of their time.
 */
import type { BinaryOp, UnaryOp } from '../program/program';
import type { Lanes32, Lanes64 } from './value';

type Loop1 = (d: Lanes64, x: Lanes64, lo: number, hi: number) => number;
type Loop2 = (d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number) => number;
type Loop3 = (d: Lanes64, x: Lanes64, y: Lanes64, z: Lanes64, lo: number, hi: number) => number;

interface Loops {
  readonly unary: Partial<Record<UnaryOp, Loop1>>;
  readonly binary: Partial<Record<BinaryOp, Loop2>>;
  readonly fma: Loop3;
}

function negLoop(d: Lanes64, x: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = -x[i];
  return 0;
}
function absLoop(d: Lanes64, x: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.abs(x[i]);
  return 0;
}

function addLoop32(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(x[i] + y[i]);
  return 0;
}
function subLoop32(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(x[i] - y[i]);
  return 0;
}
function mulLoop32(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(x[i] * y[i]);
  return 0;
}
function divLoop32(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(x[i] / y[i]);
  return 0;
}
function sqrtLoop32(d: Lanes64, x: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(Math.sqrt(x[i]));
  return 0;
}
function fmaLoop32(d: Lanes64, x: Lanes64, y: Lanes64, z: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(x[i] * y[i] + z[i]);
  return 0;
}

function addLoop64(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] + y[i];
  return 0;
}
function subLoop64(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] - y[i];
  return 0;
}
function mulLoop64(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] * y[i];
  return 0;
}
function divLoop64(d: Lanes64, x: Lanes64, y: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] / y[i];
  return 0;
}
function sqrtLoop64(d: Lanes64, x: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.sqrt(x[i]);
  return 0;
}
function fmaLoop64(d: Lanes64, x: Lanes64, y: Lanes64, z: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] * y[i] + z[i];
  return 0;
}

export const floatLoops: Readonly<Record<'f32' | 'f64', Loops>> = {
  f32: {
    unary: { neg: negLoop, abs: absLoop, sqrt: sqrtLoop32 },
    binary: { add: addLoop32, sub: subLoop32, mul: mulLoop32, div: divLoop32 },
    fma: fmaLoop32,
  },
  f64: {
    unary: { neg: negLoop, abs: absLoop, sqrt: sqrtLoop64 },
    binary: { add: addLoop64, sub: subLoop64, mul: mulLoop64, div: divLoop64 },
    fma: fmaLoop64,
  },
};

/** Numbers of 32 bits with a sign as f32, and as f64. */
export function roundedLoop(d: Lanes64, x: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(x[i]);
  return 0;
}

/** An f64 as f32. */
export function narrowedLoop(d: Lanes64, x: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = Math.fround(x[i]);
  return 0;
}
