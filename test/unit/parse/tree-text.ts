/** The syntax tree as compact text: what the tests of the parser compare. */
import type {
  Declaration,
  Expression,
  FunctionDeclaration,
  Parameter,
  QualifiedName,
  Specifiers,
  Statement,
  TemplateArgument,
  TemplateParameter,
  TranslationUnit,
  TypeNode,
  Unroll,
  VariableDeclaration,
} from '../../../server/src/parse/ast';

export function unitText(unit: TranslationUnit): string {
  return unit.declarations.map(declarationText).join(' ');
}

function list<T>(items: readonly T[], text: (item: T) => string, separator = ' '): string {
  return items.map(text).join(separator);
}

/** Words that are there, with a space between them. */
function words(...parts: (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(' ');
}

export function nameText(name: QualifiedName): string {
  const parts = name.parts.map(
    (part) => part.name + (part.templateArguments ? `<${list(part.templateArguments, argumentText, ', ')}>` : ''),
  );
  const scope = name.scopeOf ? `decltype(${expressionText(name.scopeOf)})::` : name.global ? '::' : '';
  return scope + parts.join('::');
}

function argumentText(argument: TemplateArgument): string {
  const type = argument.type && typeText(argument.type);
  const expression = argument.expression && expressionText(argument.expression);
  const both = type !== undefined && expression !== undefined ? `${type}?` : (type ?? expression ?? '(nothing)');
  return both + (argument.pack ? '...' : '');
}

/** Types from the outside in: `*const float` is a pointer to a constant float. */
export function typeText(type: TypeNode): string {
  const qualifiers = words(type.isConst && 'const', type.isVolatile && 'volatile');
  return words(qualifiers, plainTypeText(type));
}

function plainTypeText(type: TypeNode): string {
  switch (type.kind) {
    case 'builtin':
      return type.name;
    case 'named':
      return nameText(type.name);
    case 'auto':
      return 'auto';
    case 'decltype':
      return `decltype(${expressionText(type.expression)})`;
    case 'pointer':
      return `*${type.restrict ? 'restrict ' : ''}${typeText(type.to)}`;
    case 'reference':
      return `${type.rvalue ? '&&' : '&'}${typeText(type.to)}`;
    case 'array':
      return `[${type.size ? expressionText(type.size) : ''}]${typeText(type.of)}`;
    case 'function':
      return `fn(${list(type.parameters, parameterText, ', ')}) ${typeText(type.result)}`;
    case 'memberPointer':
      return `::*${typeText(type.to)}`;
    case 'record':
      return declarationText(type.record);
    case 'enum':
      return declarationText(type.enumeration);
    case 'packExpansion':
      return `${typeText(type.of)}...`;
    case 'unknown':
      return 'UNKNOWN';
  }
}

const suffixes: Record<string, string> = {
  'unsigned int': 'u',
  long: 'l',
  'unsigned long': 'ul',
  'long long': 'll',
  'unsigned long long': 'ull',
  bool: ':bool',
  nullptr: ':nullptr',
  char: ':char',
};

export function expressionText(e: Expression): string {
  switch (e.kind) {
    case 'integer':
      return `${e.value}${e.type === 'int' ? '' : (suffixes[e.type] ?? `:${e.type}`)}`;
    case 'float':
      return `${e.value}${e.type === 'float' ? 'f' : e.type === 'double' ? 'd' : 'L'}`;
    case 'string':
      return JSON.stringify(e.value);
    case 'name':
      return nameText(e.name);
    case 'this':
      return 'this';
    case 'unary':
      return `(${e.operator} ${expressionText(e.operand)})`;
    case 'binary':
    case 'assign':
      return `(${e.operator} ${expressionText(e.left)} ${expressionText(e.right)})`;
    case 'conditional':
      return `(? ${list([e.condition, e.then, e.else], expressionText)})`;
    case 'call':
      return `(${words('call', list([e.callee, ...e.arguments], expressionText))})`;
    case 'launch':
      return `(launch ${expressionText(e.kernel)} [${list(e.configuration, expressionText)}]${list(e.arguments, (a) => ` ${expressionText(a)}`, '')})`;
    case 'index':
      return `(index ${list([e.base, ...e.indices], expressionText)})`;
    case 'member':
      return `(${e.arrow ? '->' : '.'} ${expressionText(e.object)} ${nameText(e.name)})`;
    case 'cast':
      return `(${words(`cast:${e.form}`, typeText(e.type), list(e.arguments, expressionText))})`;
    case 'sizeof':
      return `(${e.operator} ${e.type ? typeText(e.type) : e.expression ? expressionText(e.expression) : ''})`;
    case 'initList':
      return `{${list(e.elements, (x) => (x.designator ? `.${x.designator}=` : '') + expressionText(x.value))}}`;
    case 'lambda':
      return lambdaText(e);
    case 'requires':
      return `(requires ${e.requirements.length})`;
    case 'new':
      return `(${words('new', typeText(e.type), list(e.arguments, expressionText))})`;
    case 'fold':
      return `(fold:${e.left ? 'left' : 'right'} ${words(e.operator, expressionText(e.pack), e.initial && expressionText(e.initial))})`;
    case 'packExpansion':
      return `${expressionText(e.operand)}...`;
    case 'block':
      return `(block ${statementText(e.body)})`;
    case 'throw':
      return '(throw)';
    case 'unknown':
      return 'UNKNOWN';
  }
}

function lambdaText(e: Extract<Expression, { kind: 'lambda' }>): string {
  const captures = e.captures.map(
    (c) =>
      (c.byReference && c.name !== 'this' ? '&' : '') +
      c.name +
      (c.initializer ? `=${expressionText(c.initializer)}` : ''),
  );
  const capture = `[${[e.defaultCapture, ...captures].filter(Boolean).join(' ')}]`;
  const template = e.templateParameters && `<${list(e.templateParameters, templateParameterText, ', ')}>`;
  return `(${words('lambda', capture, template, `(${list(e.parameters, parameterText, ', ')})`, e.result && typeText(e.result), statementText(e.body))})`;
}

function conditionText(node: Expression | VariableDeclaration): string {
  return node.kind === 'variable' ? declarationText(node) : expressionText(node);
}

function unrollText(unroll: Unroll): string {
  return unroll === undefined ? '' : unroll === 'full' ? '@unroll' : `@unroll=${expressionText(unroll)}`;
}

export function statementText(s: Statement): string {
  switch (s.kind) {
    case 'compound':
      return `{${list(s.body, statementText, '; ')}}`;
    case 'declaration':
      return list(s.declarations, declarationText);
    case 'expression':
      return expressionText(s.expression);
    case 'if':
      return `(${words(
        s.isConstexpr ? 'if-constexpr' : 'if',
        s.initializer && `${statementText(s.initializer)};`,
        conditionText(s.condition),
        statementText(s.then),
        s.else && `else ${statementText(s.else)}`,
      )})`;
    case 'for':
      return `(for${unrollText(s.unroll)} ${s.initializer ? statementText(s.initializer) : '_'}; ${s.condition ? conditionText(s.condition) : '_'}; ${s.increment ? expressionText(s.increment) : '_'} ${statementText(s.body)})`;
    case 'rangeFor':
      return `(for${unrollText(s.unroll)} ${declarationText(s.variable)} : ${expressionText(s.range)} ${statementText(s.body)})`;
    case 'while':
      return `(while${unrollText(s.unroll)} ${conditionText(s.condition)} ${statementText(s.body)})`;
    case 'do':
      return `(do${unrollText(s.unroll)} ${statementText(s.body)} ${expressionText(s.condition)})`;
    case 'switch':
      return `(${words('switch', s.initializer && `${statementText(s.initializer)};`, conditionText(s.condition), statementText(s.body))})`;
    case 'case':
      return s.value ? `case ${expressionText(s.value)}${s.to ? `...${expressionText(s.to)}` : ''}:` : 'default:';
    case 'break':
    case 'continue':
      return s.kind;
    case 'return':
      return s.value ? `(return ${expressionText(s.value)})` : '(return)';
    case 'goto':
      return `(goto ${s.label})`;
    case 'label':
      return `${s.label}:`;
    case 'asm':
      return `(${words(
        s.isVolatile ? 'asm-volatile' : 'asm',
        JSON.stringify(s.template),
        ...[s.outputs, s.inputs].map(
          (o) => `[${list(o, (x) => `${x.constraint} ${expressionText(x.expression)}`, ', ')}]`,
        ),
        `[${s.clobbers.join(' ')}]`,
      )})`;
    case 'try':
      return `(try ${statementText(s.body)})`;
    case 'empty':
      return '_';
    case 'unknownStatement':
      return 'UNKNOWN-STATEMENT';
  }
}

const flagNames: readonly (keyof Specifiers & string)[] = [
  ...(['isGlobal', 'isDevice', 'isHost', 'isShared', 'isConstant', 'isManaged', 'isGridConstant', 'isStatic'] as const),
  ...(['isExtern', 'isConstexpr', 'isInline', 'isNoinline', 'isRestrict', 'isPacked'] as const),
];

export function specifiersText(s: Specifiers): string {
  const flags = flagNames.filter((flag) => s[flag]).map((flag) => flag.slice(2).toLowerCase());
  const group = (name: string, items: readonly Expression[] | undefined) =>
    items && `${name}(${list(items, expressionText, ', ')})`;
  const alignment = s.alignment as Expression | TypeNode | undefined;
  return words(
    ...flags,
    alignment && `align(${'isConst' in alignment ? typeText(alignment) : expressionText(alignment)})`,
    group('bounds', s.launchBounds),
    group('maxreg', s.maxRegisters && [s.maxRegisters]),
    group('cluster', s.clusterDimensions),
    group('block', s.blockSize),
  );
}

export function parameterText(p: Parameter): string {
  return words(
    specifiersText(p.specifiers),
    p.name && `${p.name}:`,
    typeText(p.type) + (p.pack ? '...' : ''),
    p.default && `= ${expressionText(p.default)}`,
  );
}

function templateParameterText(t: TemplateParameter): string {
  const head = t.kind === 'value' ? (t.type ? typeText(t.type) : '?') : t.kind === 'type' ? 'typename' : 'template';
  return words(head + (t.pack ? '...' : ''), t.name, t.default && `= ${argumentText(t.default)}`);
}

function templateText(parameters: readonly TemplateParameter[] | undefined): string | undefined {
  return parameters && `<${list(parameters, templateParameterText, ', ')}>`;
}

function functionText(d: FunctionDeclaration): string {
  const initializers = d.initializers?.map((i) => `${nameText(i.member)}(${list(i.arguments, expressionText)})`);
  return `(${words(
    'fn',
    d.broken && 'BROKEN',
    d.isFriend && 'friend',
    specifiersText(d.specifiers),
    templateText(d.templateParameters),
    nameText(d.name),
    `(${list(d.parameters, parameterText, ', ')}${d.isVariadic ? ', ...' : ''})`,
    d.isConst && 'const',
    typeText(d.result),
    initializers && `: ${initializers.join(' ')}`,
    d.body && statementText(d.body),
  )})`;
}

function variableText(d: VariableDeclaration): string {
  const init = d.initializer;
  const value =
    init &&
    (init.form === 'assign'
      ? `= ${expressionText(init.value)}`
      : init.form === 'call'
        ? `(${list(init.arguments, expressionText)})`
        : expressionText(init.list));
  return `(${words(
    'var',
    specifiersText(d.specifiers),
    templateText(d.templateParameters),
    d.scope ? nameText(d.scope) : (d.name ?? (d.bindings ? `[${d.bindings.join(' ')}]` : '_')),
    typeText(d.type),
    d.bitWidth && `:${expressionText(d.bitWidth)}`,
    value,
  )})`;
}

export function declarationText(d: Declaration): string {
  switch (d.kind) {
    case 'function':
      return functionText(d);
    case 'variable':
      return variableText(d);
    case 'record':
      return `(${words(
        d.key,
        specifiersText(d.specifiers),
        templateText(d.templateParameters),
        d.name && nameText(d.name),
        d.bases.length > 0 && `: ${list(d.bases, (b) => typeText(b.type), ', ')}`,
        d.members && `{${list(d.members, declarationText)}}`,
      )})`;
    case 'enum':
      return `(${words(
        d.isScoped ? 'enum-class' : 'enum',
        d.name && nameText(d.name),
        d.underlying && `: ${typeText(d.underlying)}`,
        d.enumerators && `{${list(d.enumerators, (e) => (e.value ? `${e.name}=${expressionText(e.value)}` : e.name))}}`,
      )})`;
    case 'alias':
      return `(${words('alias', templateText(d.templateParameters), d.name, typeText(d.type))})`;
    case 'namespace':
      return d.alias
        ? `(namespace ${d.name} = ${nameText(d.alias)})`
        : `(${words(d.isInline && 'inline', 'namespace', d.name, `{${list(d.members, declarationText)}}`)})`;
    case 'using':
      return `(${words('using', d.isDirective && 'namespace', nameText(d.name))})`;
    case 'staticAssert':
      return '(static_assert)';
    case 'instantiation':
      return `(instance ${declarationText(d.declaration)})`;
    case 'unknownDeclaration':
      return 'UNKNOWN-DECLARATION';
  }
}
