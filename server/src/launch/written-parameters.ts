/**
 * Through which of its parameters a kernel may write what they point to. Told by the text of its body: what is only read there (`p->n`, `p[i]`) stays
 * what it was; what is handed on, kept in another variable or has its address taken may be written.
 */
import type { FunctionDeclaration } from '../parse/ast';

/**
 * What becomes of an expression. read: its value is looked at. kept: its value goes on elsewhere, a pointer with it. handed: so may what it denotes.
 * written: what it denotes is assigned. pointee: what it points to is.
 */
type Use = 'read' | 'kept' | 'handed' | 'written' | 'pointee';

interface Node {
  readonly kind?: string;
  readonly [key: string]: unknown;
}

/** The bodies of kernels do not change. */
const known = new WeakMap<FunctionDeclaration, ReadonlySet<string>>();

/** Names of the parameters whose pointee may be written, and `parameter.field` of records by value; all where there is no body to read. */
export function writtenParameters(declaration: FunctionDeclaration): ReadonlySet<string> {
  let found = known.get(declaration);
  if (!found) known.set(declaration, (found = computeWritten(declaration)));
  return found;
}

function computeWritten({ body, broken, parameters }: FunctionDeclaration): ReadonlySet<string> {
  if (!body || broken) return new Set(parameters.map(({ name = '' }) => name));
  const found = new Set<string>();
  // bodies nest deeper than the stack allows: else-if chains of generated code
  const pending: [unknown, Use][] = [[body, 'read']];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [node, use] = next;
    if (typeof node !== 'object' || node === null || node instanceof Set) continue;
    const parts = partsOf(node as Node, use);
    if (parts) pending.push(...parts);
    else if (use === 'kept' || use === 'handed' || use === 'pointee') found.add(nameOf(node as Node));
  }
  return found;
}

/** The parts of an expression, and what becomes of each; undefined for a name and a field of one. */
function partsOf(node: Node, use: Use): [unknown, Use][] | undefined {
  const isChanged = use === 'written' || use === 'handed';
  switch (node.kind) {
    case 'name':
      return undefined;
    case 'index':
      return [
        [node.base, isChanged ? 'pointee' : 'read'],
        [node.indices, 'read'],
      ];
    case 'member':
      if (node.arrow !== true && isName(node.object)) return undefined;
      return [[node.object, node.arrow === true ? (isChanged ? 'pointee' : 'read') : use]];
    case 'unary':
      return [[node.operand, ofOperand(String(node.operator), use)]];
    case 'assign':
      return [
        [node.left, 'written'],
        [node.right, 'kept'],
      ];
    case 'conditional':
      return [
        [node.condition, 'read'],
        [node.then, use],
        [node.else, use],
      ];
    case 'binary':
    case 'cast':
      // a sum with a pointer points where that points
      return without(node).map((part) => [part, use === 'written' ? 'kept' : use]);
    case 'call':
      return [
        [calledObject(node.callee as Node), 'handed'],
        [node.arguments, 'handed'],
      ];
    case 'variable':
      return [[node.initializer, isReference(node.type as Node) ? 'handed' : 'kept']];
    case 'return':
      return without(node).map((part) => [part, 'kept']);
    case 'lambda':
      return [[node.body, 'read']];
    case 'asm':
    case 'launch':
    case 'fold':
    case 'new':
      return without(node).map((part) => [part, 'handed']);
    case 'rangeFor':
      return [
        [node.range, 'handed'],
        [node.body, 'read'],
      ];
    default:
      // lists, and what stands in them, pass on what becomes of them; statements and conditions only look
      return without(node).map((part) => [part, passesOn.has(node.kind) ? use : 'read']);
  }
}

/** Kinds that say nothing themselves of what becomes of their parts; lists have none. */
const passesOn: ReadonlySet<string | undefined> = new Set([undefined, 'initList', 'packExpansion']);

function ofOperand(operator: string, use: Use): Use {
  if (operator === '*') return use === 'written' || use === 'handed' ? 'pointee' : 'read';
  if (operator === '&') return use === 'read' ? 'read' : 'handed';
  return operator.includes('++') || operator.includes('--') ? 'written' : 'read';
}

/** Of `object.method()`; a function's name is no parameter. */
const calledObject = (callee: Node): unknown => (callee.kind === 'member' ? callee.object : undefined);

const isReference = (type: Node): boolean => type.kind === 'reference';

const without = (node: Node): unknown[] => Object.values(node).filter((part) => typeof part === 'object');

const isName = (node: unknown): boolean => (node as Node).kind === 'name';

function nameOf(node: Node): string {
  const { parts } = node.name as { readonly parts: readonly { readonly name: string }[] };
  const last = parts[parts.length - 1].name;
  return node.kind === 'member' ? `${nameOf(node.object as Node)}.${last}` : last;
}
