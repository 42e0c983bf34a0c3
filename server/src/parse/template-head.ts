import type { Expression, TemplateParameter } from './ast';

/** Where declarations stand. */
export type DeclarationPlace = 'namespace' | 'record' | 'block';

/** The `template <…>` lists in front of a declaration. */
export class TemplateHead {
  constructor(
    readonly first: number,
    readonly parameters: readonly TemplateParameter[],
    /** undefined: none */
    readonly constraints?: readonly Expression[],
  ) {}
}
