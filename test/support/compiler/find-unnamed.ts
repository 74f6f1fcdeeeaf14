/** Finds types that a caller meets in the declarations of an entry point, and cannot name: no entry point exports them. */
import { join, relative } from 'node:path'
import ts from 'typescript'
import { ENTRY_POINTS } from '../../../scripts/entry-points.ts'

const ROOT = join(import.meta.dirname, '../../..')
const MAIN = 'src/index.ts'

/**
 * Aliases that only compute another type, which is what the compiler shows in their place. They are not exported, and what they name must
 * be. An interface cannot be one of them: the compiler shows its name.
 */
export const COMPUTATIONS: ReadonlySet<string> = new Set([
  'AskedFields',
  'Built',
  'CheckedItem',
  'CheckedItems',
  'Exactly',
  'ExactToken',
  'Flat',
  'GivenOf',
  'IsLiteral',
  'ItemValue',
  'MethodOf',
  'RecordAsAsked',
  'Registry',
  'RequestedColumn',
  'ResponseTo',
  'ResultOf',
  'ShownFiles',
  'TableOf',
])

/** A type that an exported declaration names, and that is not exported. */
export interface UnnamedType {
  readonly name: string
  /** The file that declares it, from the top of the repository. */
  readonly file: string
  /** The declaration that names it. */
  readonly namedBy: string
}

/** Returns the unnamed types of all entry points, each once. What an entry point names, it or the main one exports. */
export function findUnnamedTypes(program: ts.Program): UnnamedType[] {
  const checker = program.getTypeChecker()
  const main = exportsOf(program, MAIN)
  const found = new Map<ts.Symbol, UnnamedType>()
  for (const path of Object.values(ENTRY_POINTS)) {
    const own = exportsOf(program, path)
    const seen = new Set<ts.Symbol>()
    const visit = (symbol: ts.Symbol): void => {
      if (seen.has(symbol)) return
      seen.add(symbol)
      for (const named of (symbol.declarations ?? []).flatMap((one) => [...typesNamedIn(one, checker)])) {
        const file = sourceOf(named)
        if (file === undefined || own.has(named) || main.has(named)) continue
        if (isComputation(named)) visit(named)
        else found.set(named, { name: named.name, file, namedBy: symbol.name })
      }
    }
    for (const symbol of own) visit(symbol)
  }
  return [...found.values()]
}

/** True for one of the aliases that only compute. */
function isComputation(symbol: ts.Symbol): boolean {
  return COMPUTATIONS.has(symbol.name) && (symbol.flags & ts.SymbolFlags.TypeAlias) !== 0
}

/** Returns the exports of a source file, each as the symbol that it resolves to. */
function exportsOf(program: ts.Program, path: string): ReadonlySet<ts.Symbol> {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(join(ROOT, path))
  const symbol = file && checker.getSymbolAtLocation(file)
  if (symbol === undefined) throw new Error(`${path} is no module of the program`)
  return new Set(checker.getExportsOfModule(symbol).map((one) => resolved(one, checker)))
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
}

/** Returns the types that a declaration shows to a caller: not those of its bodies and private members. */
function typesNamedIn(declaration: ts.Declaration, checker: ts.TypeChecker): Set<ts.Symbol> {
  const named = new Set<ts.Symbol>()
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) || isPrivate(node)) return
    // What a type is compared with is not shown.
    if (ts.isConditionalTypeNode(node)) {
      for (const shown of [node.checkType, node.trueType, node.falseType]) visit(shown)
      return
    }
    const name = nameOf(node)
    const symbol = name && checker.getSymbolAtLocation(name)
    if (symbol !== undefined) named.add(resolved(symbol, checker))
    ts.forEachChild(node, visit)
  }
  visit(declaration)
  return named
}

function isPrivate(node: ts.Node): boolean {
  return ts.isClassElement(node) && node.name !== undefined && ts.isPrivateIdentifier(node.name)
}

/** Returns the name in a reference to a type; undefined for any other node. */
function nameOf(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName
  return ts.isExpressionWithTypeArguments(node) ? node.expression : undefined
}

/** Returns the file of a type that is declared at the top level of our sources; undefined for others, such as type parameters. */
function sourceOf(symbol: ts.Symbol): string | undefined {
  const declaration = symbol.declarations?.[0]
  if (declaration === undefined || !ts.isSourceFile(declaration.parent)) return undefined
  const path = relative(ROOT, declaration.getSourceFile().fileName)
  return path.startsWith('src/') ? path : undefined
}
