/** What an expression gives while it is lowered. */
import type { FunctionDeclaration, InitListExpression, LambdaExpression, Node, Parameter } from '../parse/ast';
import type { Alignment, Register } from '../program/program';
import type { Scope } from './scope';
import type { Bits, RecordInfo, TemplateValue, Type } from './types';

export type Value =
  /** A number or pointer in a register. */
  | { readonly kind: 'scalar'; readonly type: Type; readonly register: Register }
  /** A record or array in registers, by field or element. */
  | {
      readonly kind: 'aggregate';
      readonly type: Type;
      readonly elements: readonly Value[];
      /** A vector as one load read it: right from memory, or handed on as a whole by a variable or a function. */
      readonly vector?: 'loaded' | 'handed on';
      /** What lies behind the members of a record that was read as a whole, in the order of `tailsOf`. */
      readonly padding?: readonly Register[];
      /** Braces as an argument: what they make depends on the parameter. */
      readonly list?: { readonly node: InitListExpression; readonly scope: Scope };
    }
  /** An lvalue, or on the host something that nobody else needs (`handed`). */
  | { readonly kind: 'place'; readonly type: Type; readonly place: Place; readonly handed?: Handed }
  /** A pointer to something that lives in registers: known while lowering, it has no address. */
  | { readonly kind: 'placePointer'; readonly type: Type; readonly target: RegisterTarget }
  | {
      readonly kind: 'functions';
      readonly type: Type;
      readonly declarations: readonly FunctionDeclaration[];
      readonly scope: Scope;
      readonly templateArguments?: readonly TemplateValue[];
      readonly self?: Value;
    }
  | {
      readonly kind: 'lambda';
      readonly type: Type;
      readonly lambda: LambdaExpression;
      readonly scope: Scope;
      /** of `f.template operator()<4>` */
      readonly templateArguments?: readonly TemplateValue[];
    }
  /** A function that is built in: math, atomics, shuffles … */
  | {
      readonly kind: 'builtin';
      readonly type: Type;
      readonly name: string;
      readonly templateArguments?: readonly TemplateValue[];
      readonly self?: Value;
      /** Of one that is declared and defined elsewhere. */
      readonly parameters?: readonly Parameter[];
    }
  | { readonly kind: 'pack'; readonly type: Type; readonly elements: readonly Value[] }
  | { readonly kind: 'void'; readonly type: Type }
  | { readonly kind: 'unknown'; readonly type: Type; readonly reason: string };

/**
 * Of a place in the program of the host. `expiring`: who reads it takes what it holds (`std::move(x)`); `temporary`: a value that has its place for want of
 * registers, read as it is; `given`: the name of a reference that was bound to one of both, which `std::forward` makes `expiring` again.
 */
export type Handed = 'expiring' | 'temporary' | 'given';

export type Place = { readonly kind: 'storage'; readonly storage: Storage; readonly isConst?: boolean } | MemoryPlace;

/** Bytes in memory. `node` is the expression a user would point at when this place is read or written. */
export interface MemoryPlace {
  readonly kind: 'memory';
  readonly address: Register;
  readonly offset: number;
  readonly node: Node;
  /** Where the compiler says it happens, if that is elsewhere. */
  readonly at?: Node;
  /** Index into the program's objects where the pointer's origin is known. */
  readonly object?: number;
  readonly readOnly?: boolean;
  readonly isVolatile?: boolean;
  /** A member of a record, or an element of one. */
  readonly isOfMember?: boolean;
  /** Part of a record that is copied as a whole: the outermost, and the bytes behind its beginning. */
  readonly copied?: { readonly record: RecordInfo; readonly offset: number };
  /** Read or written by inline assembly, as __ldg does. */
  readonly isAssembly?: boolean;
  readonly isPastL1?: boolean;
  readonly isInHeader?: boolean;
  readonly bits?: Bits;
  /** What the record types it is a member of promise of `address + offset`. */
  readonly aligned?: Alignment;
  /** Of an array whose length is told at run time: its bytes, for sizeof. */
  readonly bytes?: Register;
}

/** An element (or the start) of an array in registers: `&acc[2]`, or a single object: `&x`. */
export interface RegisterTarget {
  /** the elements that can be reached by pointer arithmetic */
  readonly elements: readonly Storage[];
  readonly index: number;
  /** behind the beginning of that element, where a pointer to smaller things has stepped into it */
  readonly bytes?: number;
  readonly elementType: Type;
  /** what was declared, should it have to move to memory after all */
  readonly owner?: LocalDeclaration;
}

/** The elements of all rows of an array, and where each row begins among them. */
export interface FlatRows {
  readonly elements: readonly Storage[];
  readonly starts: Int32Array;
}

/** Identity of a local array, for moving it to memory when an index is not constant. */
export interface LocalDeclaration {
  readonly key: string;
  readonly name: string;
  /** A parameter that stays in constant memory. */
  readonly isInPlace?: boolean;
}

/** Where a local variable lives: one register a scalar. */
export type Storage =
  | {
      readonly kind: 'scalar';
      readonly type: Type;
      readonly register: Register;
      /** Of a bit-field: the bits of its unit; its register holds what they mean as a number of the type. */
      readonly bits?: Bits;
      /** On the host: a pointer to it may have to be a number. */
      readonly owner?: LocalDeclaration;
    }
  | {
      readonly kind: 'aggregate';
      readonly type: Type;
      readonly elements: readonly Storage[];
      readonly owner?: LocalDeclaration;
    }
  /**
   * A scalar of another type over the bits of `leaves`; isWhole: it covers exactly one of the same size; parts: the bits that each
   * of several has in it, side by side; shift: its first bit within the one that it is a part of; field: of a bit-field, its bits in the
   * only one.
   */
  | {
      readonly kind: 'view';
      readonly type: Type;
      readonly leaves: readonly Storage[];
      readonly isWhole: boolean;
      readonly parts?: readonly Bits[];
      readonly shift?: number;
      readonly field?: Bits;
    }
  /** Holds a value that has no registers: lambda, pointer into registers, function. Assigned once. */
  | { readonly kind: 'fixed'; readonly type: Type; readonly cell: { value: Value } };

export const unknownValue = (type: Type, reason: string): Value => ({ kind: 'unknown', type, reason });
