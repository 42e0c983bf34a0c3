/** Variables that a `std::reference_wrapper` refers to: what is written through it is not followed, so they no longer count as known. */
import { anywhere } from '../parse/anywhere';
import type { Expression } from '../parse/ast';
import type { HostType } from './host-type';
import { lastName, localVariable, type Scope } from './scope';
import type { HostState } from './state';
import { lose } from './unseen';

/** A wrapper, or a container of them. */
export function keepsReferences(type: HostType | undefined): boolean {
  if (type?.kind === 'container') return keepsReferences(type.element);
  return type?.kind === 'opaque' && /(?:^|::)reference_wrapper$/.test(type.name);
}

/** The variables that are named in what a wrapper is made of. */
export function loseReferred(state: HostState, nodes: readonly Expression[], scope: Scope): void {
  anywhere([...nodes], (node) => {
    const name = node.kind === 'name' && node.name.parts.length === 1 ? lastName(node.name) : undefined;
    const cell = name === undefined ? undefined : localVariable(scope, name);
    if (cell) lose(state, cell, 'a reference_wrapper refers to it');
    return node.kind === 'lambda' ? 'closed' : false;
  });
}
