/** Reads a source file into what the module rules check: imports, exports, asynchronous code and use of system globals. */
import ts from 'typescript'
import { ASYNC_TYPES, FORBIDDEN_GLOBALS } from './module-plan.ts'

/** One import or re-export. */
export interface ImportOf {
  /** The module as written; undefined if it is computed at run time. */
  readonly module: string | undefined
  /** The imported file, as a path from the top of the repository; undefined for a package. */
  readonly target: string | undefined
}

/** One name that a file exports: its own, or one of another file. */
export interface ExportOf {
  readonly name: string
  /** The name in the file that declares it. */
  readonly original: string
  readonly from: string | undefined
}

/** What the rules check in one file. */
export interface FileRead {
  readonly path: string
  readonly text: string
  readonly imports: readonly ImportOf[]
  readonly exports: readonly ExportOf[]
  /** Names declared at the top level, and whether a doc comment precedes each. */
  readonly documented: ReadonlyMap<string, boolean>
  readonly exportsStar: boolean
  readonly exportsDefault: boolean
  /** True when every statement is `export … from`. */
  readonly onlyReexports: boolean
  /** The first word that makes it asynchronous; undefined if none does. */
  readonly asyncWord: string | undefined
  /** System globals that it uses, each listed once. */
  readonly systemGlobals: readonly string[]
  /** Calls whose arguments are a list, as written, each listed once. */
  readonly spreadCalls: readonly string[]
}

/** Parses one file. `path` and the targets are paths from the top of the repository, with forward slashes. */
export function readSourceFile(path: string, text: string): FileRead {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const imports: ImportOf[] = []
  const systemGlobals = new Set<string>()
  const spreadCalls = new Set<string>()
  const asyncWords: string[] = []
  const visit = (node: ts.Node): void => {
    const module = moduleOf(node)
    if (module !== undefined) imports.push(toImport(path, module))
    const global = systemGlobalOf(node)
    if (global !== undefined) systemGlobals.add(global)
    const word = asyncWordOf(node)
    if (word !== undefined) asyncWords.push(word)
    if (takesList(node)) spreadCalls.add(node.getText().replace(/\s+/g, ' '))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return {
    path,
    text,
    imports,
    exports: source.statements.flatMap((statement) => exportsOf(path, statement)),
    documented: new Map(
      source.statements.flatMap((statement) => declaredIn(statement).map((name) => [name, isDocumented(statement)])),
    ),
    exportsStar: source.statements.some(isStarExport),
    exportsDefault: source.statements.some(isDefaultExport),
    onlyReexports: source.statements.every(
      (statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined,
    ),
    asyncWord: asyncWords[0],
    systemGlobals: [...systemGlobals],
    spreadCalls: [...spreadCalls],
  }
}

/** The module expression of an import in any of its forms. */
function moduleOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node)) return node.moduleSpecifier
  if (ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument
  if (ts.isExternalModuleReference(node)) return node.expression
  if (!ts.isCallExpression(node)) return undefined
  const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword
  const isRequire = ts.isIdentifier(node.expression) && node.expression.text === 'require'
  return isImport || isRequire ? (node.arguments[0] ?? node) : undefined
}

function toImport(path: string, node: ts.Node): ImportOf {
  if (!ts.isStringLiteralLike(node)) return { module: undefined, target: undefined }
  return { module: node.text, target: node.text.startsWith('.') ? resolvePath(path, node.text) : undefined }
}

/** `a/b/c.ts` and `../d.ts` give `a/d.ts`. */
function resolvePath(from: string, module: string): string {
  const parts = from.split('/').slice(0, -1)
  for (const part of module.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}

/** The system global that a node uses: the clock, randomness, or a forbidden global. */
function systemGlobalOf(node: ts.Node): string | undefined {
  if (ts.isNewExpression(node) && isNamed(node.expression, 'Date') && (node.arguments ?? []).length === 0) return 'new Date()'
  if (ts.isCallExpression(node) && isNamed(node.expression, 'Date')) return 'Date()'
  if (ts.isPropertyAccessExpression(node)) {
    if (isNamed(node.expression, 'Date') && node.name.text === 'now') return 'Date.now'
    if (isNamed(node.expression, 'Math') && node.name.text === 'random') return 'Math.random'
  }
  return ts.isIdentifier(node) && FORBIDDEN_GLOBALS.has(node.text) && !isMemberName(node) ? node.text : undefined
}

function isNamed(node: ts.Node, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name
}

/** True for `x` in `a.x`, `{ x: 1 }` and `{ readonly x: T }`: a member name, not a use of a global. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node
  if (ts.isQualifiedName(parent)) return parent.right === node
  return (
    (ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isMethodDeclaration(parent)) &&
    parent.name === node
  )
}

/** True for a call, or a construction, with a list in place of its arguments: spread, or by `apply`. */
function takesList(node: ts.Node): boolean {
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return false
  const given = node.arguments ?? []
  if (given.some(ts.isSpreadElement)) return true
  const last = given.at(-1)
  const isApply = ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'apply'
  return isApply && last !== undefined && !(ts.isArrayLiteralExpression(last) && !last.elements.some(ts.isSpreadElement))
}

function asyncWordOf(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AsyncKeyword) return 'async'
  if (node.kind === ts.SyntaxKind.AwaitKeyword || ts.isAwaitExpression(node)) return 'await'
  return ts.isIdentifier(node) && ASYNC_TYPES.has(node.text) && !isMemberName(node) ? node.text : undefined
}

function isStarExport(statement: ts.Statement): boolean {
  if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return false
  return statement.exportClause === undefined || ts.isNamespaceExport(statement.exportClause)
}

function isDefaultExport(statement: ts.Statement): boolean {
  if (ts.isExportAssignment(statement)) return true
  if (ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some((one) => one.kind === ts.SyntaxKind.DefaultKeyword))
    return true
  return exportsOf('', statement).some(({ name }) => name === 'default')
}

function exportsOf(path: string, statement: ts.Statement): ExportOf[] {
  if (ts.isExportDeclaration(statement)) {
    if (statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause)) return []
    const from = statement.moduleSpecifier === undefined ? undefined : toImport(path, statement.moduleSpecifier).target
    return statement.exportClause.elements.map((one) => ({
      name: one.name.text,
      original: (one.propertyName ?? one.name).text,
      from,
    }))
  }
  const isExported =
    ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some((one) => one.kind === ts.SyntaxKind.ExportKeyword)
  return isExported ? declaredIn(statement).map((name) => ({ name, original: name, from: undefined })) : []
}

/** Names a statement declares at the top of its file. */
function declaredIn(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
  }
  const isNamedDeclaration =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  return isNamedDeclaration && statement.name !== undefined ? [statement.name.text] : []
}

function isDocumented(statement: ts.Statement): boolean {
  const text = statement.getSourceFile().text
  const comments = ts.getLeadingCommentRanges(text, statement.getFullStart()) ?? []
  return comments.some(({ pos }) => text.startsWith('/**', pos))
}
