/** Values of host code as the caller sees them: plain data, evaluated as far as the text allows. */
import type { LambdaExpression, TypeNode } from '../parse/ast';

export type HostValue =
  /** ints, floats, bools and enums, rounded and wrapped as C++ does; integers beyond 2^53 become unknown */
  | { readonly kind: 'number'; readonly value: number; readonly type?: string }
  | {
      readonly kind: 'pointer';
      /** Identity of the buffer: the variable it was allocated for. Equal names within a launch are the same buffer. */
      readonly allocation: string;
      readonly offsetBytes: number;
      readonly elementType?: string;
      /** Size of the allocation where known. */
      readonly bytes?: number;
    }
  /** dim3 and builtin vectors included: fields x, y, z, w */
  | {
      readonly kind: 'struct';
      readonly type?: string;
      /** of an instance of a class template */
      readonly instance?: TypeNode;
      readonly fields: ReadonlyMap<string, HostValue>;
    }
  | { readonly kind: 'array'; readonly elements: readonly HostValue[] }
  | { readonly kind: 'function'; readonly name: string; readonly templateArguments?: readonly HostTemplateArgument[] }
  | {
      readonly kind: 'lambda';
      readonly expression: LambdaExpression;
      readonly captures: ReadonlyMap<string, HostValue>;
      /** Of what it captured, by name, as far as the host's text tells; lambdas have none that can be written. */
      readonly types: ReadonlyMap<string, TypeNode>;
    }
  | { readonly kind: 'string'; readonly value: string }
  | UnknownHostValue;

export interface UnknownHostValue {
  readonly kind: 'unknown';
  /** In a user's words. */
  readonly reason: string;
  /** The source name a person knows it by: `n`. */
  readonly name?: string;
  /**
   * Names of the unknown host variables it was computed from. A caller that wants one consistent sample of a launch
   * calls findLaunches again with these names in `assume`.
   */
  readonly roots?: readonly string[];
}

/** x, y, z */
export type HostTriple = readonly [HostValue, HostValue, HostValue];

/**
 * A template argument as the host code evaluates it. In `type` the host's own template parameters and local aliases are
 * already replaced, so it can be resolved from the namespace of the kernel or of the launch (`environment`).
 */
export type HostTemplateArgument =
  | { readonly kind: 'type'; readonly type: TypeNode; readonly environment: readonly string[] }
  | { readonly kind: 'value'; readonly value: HostValue };
