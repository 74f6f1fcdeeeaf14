/** Reads source files into what the house rules ask about: imports, exports, waiting, and reaching for the machine. */
import ts from 'typescript'
import { FORBIDDEN_GLOBALS, WAITING_TYPES } from './module-plan.ts'

/** One import or re-export. */
export interface ImportOf {
  /** The module as written; undefined where it is computed while running. */
  readonly module: string | undefined
  /** The file it means, as a path from the top of the repository; undefined for a package. */
  readonly target: string | undefined
}

/** One name a file hands on: exported here, or from another file. */
export interface ExportOf {
  readonly name: string
  /** The name in the file it comes from, where it is a re-export or was renamed. */
  readonly original: string
  readonly from: string | undefined
}

/** What the rules know of one file. */
export interface FileRead {
  readonly path: string
  readonly text: string
  readonly imports: readonly ImportOf[]
  readonly exports: readonly ExportOf[]
  /** Names declared at the top of the file, and whether a doc comment stands before them. */
  readonly documented: ReadonlyMap<string, boolean>
  readonly exportsStar: boolean
  readonly exportsDefault: boolean
  /** True when every statement is `export … from`. */
  readonly onlyPassesOn: boolean
  /** The first word by which it waits, if it does. */
  readonly waits: string | undefined
  /** What it takes from the machine by itself, once each. */
  readonly reaches: readonly string[]
}

/** Parses one file. `path` and the targets are paths from the top of the repository, with forward slashes. */
export function readSourceFile(path: string, text: string): FileRead {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const imports: ImportOf[] = []
  const reaches = new Set<string>()
  const waits: string[] = []
  const visit = (node: ts.Node): void => {
    const module = moduleOf(node)
    if (module !== undefined) imports.push(toImport(path, module))
    const reached = reachOf(node)
    if (reached !== undefined) reaches.add(reached)
    const word = waitOf(node)
    if (word !== undefined) waits.push(word)
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
    onlyPassesOn: source.statements.every(
      (statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined,
    ),
    waits: waits[0],
    reaches: [...reaches],
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

/** What a node takes from the machine: the clock, luck, or a global. */
function reachOf(node: ts.Node): string | undefined {
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

/** True for `x` in `a.x`, `{ x: 1 }` and `{ readonly x: T }`: a name, not a reach for a global. */
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

function waitOf(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AsyncKeyword) return 'async'
  if (node.kind === ts.SyntaxKind.AwaitKeyword || ts.isAwaitExpression(node)) return 'await'
  return ts.isIdentifier(node) && WAITING_TYPES.has(node.text) && !isMemberName(node) ? node.text : undefined
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
