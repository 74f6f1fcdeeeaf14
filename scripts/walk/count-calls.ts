/** Counts the functions of `src` that a program enters: each body is given a call that logs it, before the program is loaded. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const SRC = join(import.meta.dirname, '../../src/')

/** A function of a source file. */
export interface CountedFunction {
  readonly file: string
  readonly name: string
}

/** The functions that were entered, in their order. */
let entered: CountedFunction[] | undefined

const functions: CountedFunction[] = []

/** Runs the work. Returns the functions of `src` that it entered, in their order, with those of other work that ran meanwhile. */
export async function functionsEntered(work: () => Promise<unknown>): Promise<readonly CountedFunction[]> {
  const during: CountedFunction[] = []
  entered = during
  try {
    await work()
  } finally {
    entered = undefined
  }
  return during
}

/** The name of the logging function in the sources. No source has a name like it. */
const LOG = '__entered'

Reflect.set(globalThis, LOG, (id: number): void => {
  const one = functions[id]
  if (one !== undefined) entered?.push(one)
})

registerHooks({
  load(url, context, next) {
    const file = url.startsWith('file:') && url.endsWith('.ts') ? fileURLToPath(url) : ''
    if (!file.startsWith(SRC)) return next(url, context)
    return { format: 'module', source: withLog(file), shortCircuit: true }
  },
})

/** Returns the JavaScript of a source file whose functions log that they are entered. */
function withLog(path: string): string {
  const file = path.slice(SRC.length).replaceAll('\\', '/')
  const add: ts.TransformerFactory<ts.SourceFile> = (context) => (source) => {
    const visit = (node: ts.Node): ts.Node => {
      const visited = ts.visitEachChild(node, visit, context)
      if (!isFunction(visited) || visited.body === undefined) return visited
      const id = functions.push({ file, name: nameOf(ts.getOriginalNode(node)) }) - 1
      return ts.visitEachChild(
        visited,
        (part) => (part === visited.body ? logging(context.factory, visited.body, id) : part),
        context,
      )
    }
    return ts.visitEachChild(source, visit, context)
  }
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext, verbatimModuleSyntax: true }
  return ts.transpileModule(readFileSync(path, 'utf8'), {
    fileName: path,
    compilerOptions: options,
    transformers: { before: [add] },
  }).outputText
}

type FunctionWithBody =
  | ts.FunctionDeclaration
  | ts.FunctionExpression
  | ts.ArrowFunction
  | ts.MethodDeclaration
  | ts.ConstructorDeclaration
  | ts.GetAccessorDeclaration

function isFunction(node: ts.Node): node is FunctionWithBody {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isConstructorDeclaration(node) ||
    ts.isGetAccessorDeclaration(node)
  )
}

/** Returns a body that logs first. That of a constructor logs last: `super` comes first. */
function logging(factory: ts.NodeFactory, body: ts.ConciseBody, id: number): ts.ConciseBody {
  const call = factory.createCallExpression(factory.createIdentifier(LOG), undefined, [factory.createNumericLiteral(id)])
  if (!ts.isBlock(body)) return factory.createParenthesizedExpression(factory.createComma(call, body))
  const log = factory.createExpressionStatement(call)
  const isConstructor = ts.isConstructorDeclaration(ts.getOriginalNode(body).parent)
  return factory.updateBlock(body, isConstructor ? [...body.statements, log] : [log, ...body.statements])
}

function nameOf(node: ts.Node): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  if (isFunction(node) && node.name !== undefined) return node.name.getText()
  const { parent } = node
  const isNamed = parent !== undefined && (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent))
  return isNamed ? parent.name.getText() : '(without a name)'
}
