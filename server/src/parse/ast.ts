/**
 * The syntax tree of one translation unit. Nodes are plain data; `first` and `last` are token indices (last inclusive)
 * into the unit's TokenStream, from which files, offsets and macro calls follow.
 *
 * The tree is syntactic: names are not resolved and templates not instantiated here (the lowering does both), but the
 * parser tracks which names are types and templates, because C++ cannot be parsed without that.
 * What could not be parsed is an `unknown` node with a reason; the parser never throws and never gives up on a file.
 */

export interface Node {
  readonly first: number;
  readonly last: number;
}

// ---- names and types ------------------------------------------------------------------------------------------------

/** `a::b<int, 4>::c`; `global` for a leading `::`. */
export interface QualifiedName extends Node {
  readonly global: boolean;
  /** `decltype(x)::a`: the parts are names of the type of x */
  readonly scopeOf?: Expression;
  readonly parts: readonly NamePart[];
}

export interface NamePart {
  /** identifier, `operator+`, `operator()`, `operator float` (conversion), `~T` */
  readonly name: string;
  /** undefined: no template argument list; []: an empty one */
  readonly templateArguments?: readonly TemplateArgument[];
}

/**
 * A template argument may be a type, an expression, or (for `T<N>` with a name nobody declared) either:
 * then both readings are given and the lowering chooses. `pack`: followed by `...`.
 */
export interface TemplateArgument extends Node {
  readonly type?: TypeNode;
  readonly expression?: Expression;
  readonly pack: boolean;
}

export type TypeNode =
  /** Arithmetic and void types, spelled canonically: 'int', 'unsigned char', 'long long', 'double', 'bool', 'void', 'signed char', 'char', 'wchar_t', 'char16_t', 'auto', … */
  | (TypeBase & { readonly kind: 'builtin'; readonly name: BuiltinTypeName })
  | (TypeBase & { readonly kind: 'named'; readonly name: QualifiedName })
  /** also decltype(auto); `Concept auto` */
  | (TypeBase & { readonly kind: 'auto'; readonly concept?: QualifiedName })
  /** `isTypeof`: of a place it is the type alone; a decltype of one is a reference */
  | (TypeBase & { readonly kind: 'decltype'; readonly expression: Expression; readonly isTypeof: boolean })
  | (TypeBase & { readonly kind: 'pointer'; readonly to: TypeNode; readonly restrict: boolean })
  | (TypeBase & { readonly kind: 'reference'; readonly to: TypeNode; readonly rvalue: boolean })
  | (TypeBase & { readonly kind: 'array'; readonly of: TypeNode; readonly size?: Expression })
  | (TypeBase & { readonly kind: 'function'; readonly result: TypeNode; readonly parameters: readonly Parameter[] })
  | (TypeBase & { readonly kind: 'memberPointer'; readonly to: TypeNode })
  /** A record or enum defined in place: `struct { int a; } x;` */
  | (TypeBase & { readonly kind: 'record'; readonly record: RecordDeclaration })
  | (TypeBase & { readonly kind: 'enum'; readonly enumeration: EnumDeclaration })
  | (TypeBase & { readonly kind: 'packExpansion'; readonly of: TypeNode })
  | (TypeBase & { readonly kind: 'unknown'; readonly reason: string });

export interface TypeBase extends Node {
  readonly isConst: boolean;
  readonly isVolatile: boolean;
}

export type BuiltinTypeName =
  | 'void'
  | 'bool'
  | 'char'
  | 'signed char'
  | 'unsigned char'
  | 'short'
  | 'unsigned short'
  | 'int'
  | 'unsigned int'
  | 'long'
  | 'unsigned long'
  | 'long long'
  | 'unsigned long long'
  | '__int128'
  | 'unsigned __int128'
  | 'float'
  | 'double'
  | 'long double'
  | 'wchar_t'
  | 'char8_t'
  | 'char16_t'
  | 'char32_t';

// ---- expressions ----------------------------------------------------------------------------------------------------

export type Expression =
  | IntegerLiteral
  | FloatLiteral
  | StringLiteral
  | NameExpression
  | ThisExpression
  | UnaryExpression
  | BinaryExpression
  | AssignExpression
  | ConditionalExpression
  | CallExpression
  | LaunchExpression
  | IndexExpression
  | MemberExpression
  | CastExpression
  | SizeofExpression
  | InitListExpression
  | LambdaExpression
  | NewExpression
  | FoldExpression
  | PackExpansionExpression
  | ThrowExpression
  | BlockExpression
  | RequiresExpression
  | UnknownExpression;

export interface IntegerLiteral extends Node {
  readonly kind: 'integer';
  /** Exact; also for characters ('a'), true (1), false (0), nullptr (0). */
  readonly value: bigint;
  /** The C++ type of the literal by its form, suffix and value. */
  readonly type: BuiltinTypeName | 'nullptr';
}
export interface FloatLiteral extends Node {
  readonly kind: 'float';
  readonly value: number;
  readonly type: 'float' | 'double' | 'long double';
}
export interface StringLiteral extends Node {
  readonly kind: 'string';
  readonly value: string;
}
export interface NameExpression extends Node {
  readonly kind: 'name';
  readonly name: QualifiedName;
}
export interface ThisExpression extends Node {
  readonly kind: 'this';
}
export interface UnaryExpression extends Node {
  readonly kind: 'unary';
  readonly operator: '+' | '-' | '!' | '~' | '*' | '&' | '++' | '--' | 'post++' | 'post--' | 'noexcept' | 'delete';
  readonly operand: Expression;
}
export interface BinaryExpression extends Node {
  readonly kind: 'binary';
  /** arithmetic, shifts, comparisons (also '<=>'), bit and logical operators, ',', '.*', '->*' */
  readonly operator: string;
  readonly left: Expression;
  readonly right: Expression;
}
export interface AssignExpression extends Node {
  readonly kind: 'assign';
  /** '=' or a compound: '+=', '<<=', … */
  readonly operator: string;
  readonly left: Expression;
  readonly right: Expression;
}
export interface ConditionalExpression extends Node {
  readonly kind: 'conditional';
  readonly condition: Expression;
  readonly then: Expression;
  readonly else: Expression;
}
export interface CallExpression extends Node {
  readonly kind: 'call';
  readonly callee: Expression;
  readonly arguments: readonly Expression[];
}
/** `kernel<<<grid, block, shared, stream>>>(arguments)` */
export interface LaunchExpression extends Node {
  readonly kind: 'launch';
  readonly kernel: Expression;
  readonly configuration: readonly Expression[];
  readonly arguments: readonly Expression[];
}
export interface IndexExpression extends Node {
  readonly kind: 'index';
  readonly base: Expression;
  readonly indices: readonly Expression[];
}
export interface MemberExpression extends Node {
  readonly kind: 'member';
  readonly object: Expression;
  readonly arrow: boolean;
  readonly name: QualifiedName;
}
export interface CastExpression extends Node {
  readonly kind: 'cast';
  /** functional: `T(a, b)`; braced: `T{a, b}` */
  readonly form: 'c' | 'static' | 'reinterpret' | 'const' | 'dynamic' | 'functional' | 'braced';
  readonly type: TypeNode;
  readonly arguments: readonly Expression[];
}
export interface SizeofExpression extends Node {
  readonly kind: 'sizeof';
  /** offsetof: of a type, to the place in it that the expression spells as if it were a variable. */
  readonly operator: 'sizeof' | 'alignof' | 'sizeof...' | 'typeid' | 'offsetof';
  readonly type?: TypeNode;
  readonly expression?: Expression;
}
export interface InitListExpression extends Node {
  readonly kind: 'initList';
  readonly elements: readonly { readonly designator?: string; readonly value: Expression }[];
}
export interface LambdaExpression extends Node {
  readonly kind: 'lambda';
  readonly defaultCapture?: '=' | '&';
  readonly captures: readonly {
    readonly name: string;
    readonly byReference: boolean;
    readonly initializer?: Expression;
  }[];
  readonly templateParameters?: readonly TemplateParameter[];
  readonly parameters: readonly Parameter[];
  readonly result?: TypeNode;
  readonly body: CompoundStatement;
}
export interface NewExpression extends Node {
  readonly kind: 'new';
  /** of `new (place) T` */
  readonly placement?: readonly Expression[];
  readonly type: TypeNode;
  /** of `new T{…}` a list */
  readonly arguments: readonly Expression[];
  /** Without anything behind the type (`new T[n]`) numbers are left as they are. */
  readonly isBare: boolean;
}
export interface FoldExpression extends Node {
  readonly kind: 'fold';
  readonly operator: string;
  /** the operand that contains the pack, and the other one if the fold is binary */
  readonly pack: Expression;
  readonly initial?: Expression;
  /** `(... op pack)` or `(init op ... op pack)` */
  readonly left: boolean;
}
export interface PackExpansionExpression extends Node {
  readonly kind: 'packExpansion';
  readonly operand: Expression;
}
export interface ThrowExpression extends Node {
  readonly kind: 'throw';
  readonly operand?: Expression;
}
/** `({ …; e; })`, a GNU statement expression: the value is the last statement's, if that is an expression. */
export interface BlockExpression extends Node {
  readonly kind: 'block';
  readonly body: CompoundStatement;
}
/** `requires (parameters) { … }`: whether all that it asks for is valid. */
export interface RequiresExpression extends Node {
  readonly kind: 'requires';
  readonly parameters: readonly Parameter[];
  readonly requirements: readonly Requirement[];
}
/** One of: an expression that is valid, and what its type fulfils; a type that exists; a condition that holds. */
export interface Requirement extends Node {
  readonly expression?: Expression;
  readonly result?: QualifiedName;
  readonly type?: TypeNode;
  readonly condition?: Expression;
}
export interface UnknownExpression extends Node {
  readonly kind: 'unknown';
  readonly reason: string;
}

// ---- statements -----------------------------------------------------------------------------------------------------

export type Statement =
  | CompoundStatement
  | DeclarationStatement
  | ExpressionStatement
  | IfStatement
  | ForStatement
  | RangeForStatement
  | WhileStatement
  | DoStatement
  | SwitchStatement
  | CaseStatement
  | JumpStatement
  | ReturnStatement
  | GotoStatement
  | LabelStatement
  | AsmStatement
  | TryStatement
  | EmptyStatement
  | UnknownStatement;

export interface CompoundStatement extends Node {
  readonly kind: 'compound';
  readonly body: readonly Statement[];
}
/** Local variables, types, aliases, using-declarations, static_asserts. */
export interface DeclarationStatement extends Node {
  readonly kind: 'declaration';
  readonly declarations: readonly Declaration[];
}
export interface ExpressionStatement extends Node {
  readonly kind: 'expression';
  readonly expression: Expression;
}
export interface IfStatement extends Node {
  readonly kind: 'if';
  readonly isConstexpr: boolean;
  readonly initializer?: Statement;
  /** an expression, or a variable declared in the condition */
  readonly condition: Expression | VariableDeclaration;
  readonly then: Statement;
  readonly else?: Statement;
}
/** `#pragma unroll` in front of a loop: undefined none, 'full' without a number. */
export type Unroll = 'full' | Expression | undefined;
export interface ForStatement extends Node {
  readonly kind: 'for';
  readonly unroll: Unroll;
  readonly initializer?: Statement;
  readonly condition?: Expression | VariableDeclaration;
  readonly increment?: Expression;
  readonly body: Statement;
}
export interface RangeForStatement extends Node {
  readonly kind: 'rangeFor';
  readonly unroll: Unroll;
  readonly variable: VariableDeclaration;
  readonly range: Expression;
  readonly body: Statement;
}
export interface WhileStatement extends Node {
  readonly kind: 'while';
  readonly unroll: Unroll;
  readonly condition: Expression | VariableDeclaration;
  readonly body: Statement;
}
export interface DoStatement extends Node {
  readonly kind: 'do';
  readonly unroll: Unroll;
  readonly body: Statement;
  readonly condition: Expression;
}
export interface SwitchStatement extends Node {
  readonly kind: 'switch';
  readonly initializer?: Statement;
  readonly condition: Expression | VariableDeclaration;
  readonly body: Statement;
}
/** A label inside a switch; the statement it labels follows as the next one of the list. */
export interface CaseStatement extends Node {
  readonly kind: 'case';
  /** undefined: default */
  readonly value?: Expression;
  /** GNU range `case 1 ... 5` */
  readonly to?: Expression;
}
export interface JumpStatement extends Node {
  readonly kind: 'break' | 'continue';
}
export interface ReturnStatement extends Node {
  readonly kind: 'return';
  readonly value?: Expression;
}
export interface GotoStatement extends Node {
  readonly kind: 'goto';
  readonly label: string;
}
export interface LabelStatement extends Node {
  readonly kind: 'label';
  readonly label: string;
}
export interface AsmStatement extends Node {
  readonly kind: 'asm';
  readonly isVolatile: boolean;
  readonly template: string;
  readonly outputs: readonly AsmOperand[];
  readonly inputs: readonly AsmOperand[];
  readonly clobbers: readonly string[];
}
export interface AsmOperand {
  readonly constraint: string;
  readonly expression: Expression;
}
export interface TryStatement extends Node {
  readonly kind: 'try';
  readonly body: CompoundStatement;
  readonly handlers: readonly Handler[];
}
/** `catch (parameter) body`; without a parameter of `catch (...)`. */
export interface Handler extends Node {
  readonly parameter?: Parameter;
  readonly body: CompoundStatement;
}
export interface EmptyStatement extends Node {
  readonly kind: 'empty';
}
export interface UnknownStatement extends Node {
  readonly kind: 'unknownStatement';
  readonly reason: string;
}

// ---- declarations ---------------------------------------------------------------------------------------------------

export type Declaration =
  | FunctionDeclaration
  | VariableDeclaration
  | RecordDeclaration
  | EnumDeclaration
  | AliasDeclaration
  | NamespaceDeclaration
  | UsingDeclaration
  | StaticAssertDeclaration
  | ExplicitInstantiation
  | UnknownDeclaration;

/** Specifiers and CUDA attributes, as they matter here. */
export interface Specifiers {
  readonly isGlobal: boolean; // __global__
  readonly isDevice: boolean;
  readonly isHost: boolean;
  readonly isShared: boolean;
  readonly isConstant: boolean; // __constant__
  readonly isManaged: boolean;
  readonly isGridConstant: boolean;
  readonly isStatic: boolean;
  readonly isExtern: boolean;
  readonly isConstexpr: boolean; // also consteval, constinit
  readonly isInline: boolean; // also __forceinline__
  readonly isNoinline: boolean;
  readonly isRestrict: boolean;
  /** alignas, __align__, __attribute__((aligned)), __declspec(align) */
  readonly alignment?: Expression | TypeNode;
  /** __attribute__((packed)) */
  readonly isPacked: boolean;
  readonly isVirtual: boolean;
  /** __launch_bounds__(maxThreads, minBlocks, maxClusterBlocks) */
  readonly launchBounds?: readonly Expression[];
  /** From the word to its closing bracket. */
  readonly launchBoundsPlace?: { readonly first: number; readonly last: number };
  /** __maxnreg__(n) */
  readonly maxRegisters?: Expression;
  /** __cluster_dims__(x, y, z) */
  readonly clusterDimensions?: readonly Expression[];
  /** __block_size__((x, y, z), (clusterX, clusterY, clusterZ)): the block's extents */
  readonly blockSize?: readonly Expression[];
}

export type TemplateParameter = Node & {
  readonly kind: 'type' | 'value' | 'template';
  readonly name?: string;
  readonly pack: boolean;
  /** of a value parameter */
  readonly type?: TypeNode;
  readonly default?: TemplateArgument;
};

export interface Parameter extends Node {
  readonly name?: string;
  readonly type: TypeNode;
  readonly specifiers: Specifiers;
  readonly default?: Expression;
  readonly pack: boolean;
}

export interface FunctionDeclaration extends Node {
  readonly kind: 'function';
  /** `scope::name` of an out-of-class definition keeps its qualification; template arguments mark an explicit specialisation. */
  readonly name: QualifiedName;
  /** Range of the function's name, for a lens or a hover. */
  readonly nameToken: number;
  readonly specifiers: Specifiers;
  /** Outermost first: an out-of-class member template has two lists. [] for `template <>`. undefined: no template. */
  readonly templateParameters?: readonly TemplateParameter[];
  /** What must hold so that it can be meant, in the order in which it is written. */
  readonly constraints?: readonly Expression[];
  readonly result: TypeNode;
  readonly parameters: readonly Parameter[];
  readonly isVariadic: boolean;
  /** method qualifiers */
  readonly isConst: boolean;
  /** declared `friend` inside a record: a function of the namespace around it */
  readonly isFriend?: boolean;
  /** constructors: member initialisers */
  readonly initializers?: readonly {
    readonly member: QualifiedName;
    readonly arguments: readonly Expression[];
    /** followed by `...`: one for each base of a pack */
    readonly pack: boolean;
  }[];
  /** undefined: a declaration only (also = default, = delete) */
  readonly body?: CompoundStatement;
  /** Every identifier spelled inside the declaration, for dependency keys. */
  readonly mentions: ReadonlySet<string>;
  /** true when the body holds unknown nodes or its braces did not match */
  readonly broken: boolean;
}

/** One declared variable; `int a, *b;` gives two. Fields of records too. */
export interface VariableDeclaration extends Node {
  readonly kind: 'variable';
  /** undefined for an unnamed bit-field or anonymous union member */
  readonly name?: string;
  /** qualified name of an out-of-class static member definition */
  readonly scope?: QualifiedName;
  readonly nameToken: number;
  readonly type: TypeNode;
  readonly specifiers: Specifiers;
  readonly templateParameters?: readonly TemplateParameter[];
  readonly constraints?: readonly Expression[];
  readonly isConcept?: true;
  /** of a specialisation of a variable template */
  readonly templateArguments?: readonly TemplateArgument[];
  readonly initializer?: VariableInitializer;
  readonly bitWidth?: Expression;
  /** `auto [a, b] = …` */
  readonly bindings?: readonly string[];
}

export type VariableInitializer =
  | { readonly form: 'assign'; readonly value: Expression } // = value (value may be an initList)
  | { readonly form: 'call'; readonly arguments: readonly Expression[] } // T x(a, b)
  | { readonly form: 'braces'; readonly list: InitListExpression }; // T x{a, b}

export interface RecordDeclaration extends Node {
  readonly kind: 'record';
  readonly key: 'struct' | 'class' | 'union';
  /** undefined: anonymous. Template arguments on the last part mark a specialisation. */
  readonly name?: QualifiedName;
  /** `typedef struct { … } T;` gives an anonymous one the name T, for all but lookup. */
  typedefName?: string;
  readonly specifiers: Specifiers;
  readonly templateParameters?: readonly TemplateParameter[];
  readonly constraints?: readonly Expression[];
  /** Largest alignment of a member by `#pragma pack`. */
  readonly packing?: number;
  readonly bases: readonly { readonly type: TypeNode; readonly isVirtual: boolean }[];
  /** undefined: forward declaration */
  readonly members?: readonly Declaration[];
}

export interface EnumDeclaration extends Node {
  readonly kind: 'enum';
  readonly name?: QualifiedName;
  /** `typedef enum { … } T;` */
  typedefName?: string;
  readonly isScoped: boolean;
  readonly underlying?: TypeNode;
  readonly enumerators?: readonly { readonly name: string; readonly value?: Expression }[];
}

/** typedef or using X = … */
export interface AliasDeclaration extends Node {
  readonly kind: 'alias';
  readonly name: string;
  readonly type: TypeNode;
  readonly templateParameters?: readonly TemplateParameter[];
}

export interface NamespaceDeclaration extends Node {
  readonly kind: 'namespace';
  /** `a::b` gives nested declarations; '' anonymous */
  readonly name: string;
  readonly isInline: boolean;
  readonly members: readonly Declaration[];
  /** `namespace a = b::c;` */
  readonly alias?: QualifiedName;
}

export interface UsingDeclaration extends Node {
  readonly kind: 'using';
  readonly name: QualifiedName;
  /** using namespace x; */
  readonly isDirective: boolean;
}

export interface StaticAssertDeclaration extends Node {
  readonly kind: 'staticAssert';
}

/** `template void f<4>(int);`: names an instance that is wanted. */
export interface ExplicitInstantiation extends Node {
  readonly kind: 'instantiation';
  readonly declaration: Declaration;
}

export interface UnknownDeclaration extends Node {
  readonly kind: 'unknownDeclaration';
  readonly reason: string;
}

export interface TranslationUnit {
  readonly declarations: readonly Declaration[];
  /** What was skipped: position and reason in a user's words. */
  readonly notes: readonly (Node & { readonly message: string })[];
}
