/** Reads strongroom.config.ts: by Node's own type stripping, and by jiti where that fails. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { isVaultError } from '../../public-errors.ts'
import { CommandFailure, codeOf, EXIT, sentenceOf } from '../failure.ts'
import { configFaults, isConfig } from './config-shape.ts'
import type { Config } from './define-config.ts'

/** A configuration that was checked. */
export interface LoadedConfig {
  readonly config: Config
  /** Its file, as an absolute path. */
  readonly file: string
  /** Returns a path that the configuration names as an absolute one. */
  pathOf(path: string): string
}

const NAMES = ['strongroom.config.ts', 'strongroom.config.js', 'strongroom.config.mjs', 'strongroom.config.json'] as const

/** Errors of Node's own loader for TypeScript that it does not know: another version of Node, an enum, an import without its extension. */
const OF_LOADER: ReadonlySet<string> = new Set([
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_INVALID_TYPESCRIPT_SYNTAX',
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNSUPPORTED_DIR_IMPORT',
])

/**
 * Reads the configuration of a file, or of this folder. `note` receives which loader read it. Throws `CommandFailure` with the path of each
 * member that is wrong.
 */
export async function loadConfig({
  file: given,
  folder = process.cwd(),
  note = () => {},
}: {
  readonly file?: string | undefined
  readonly folder?: string
  readonly note?: (sentence: string) => void
}): Promise<LoadedConfig> {
  const file = findConfig(given, folder)
  const pathOf = (path: string) => resolve(dirname(file), path)
  const loaded = extname(file) === '.json' ? await readJson(file) : await importDefault(file, note)
  const config = await withSchema(loaded, { pathOf, note })
  if (!isConfig(config)) throw faulty(file, configFaults(config))
  return { config, file, pathOf }
}

function findConfig(given: string | undefined, folder: string): string {
  const candidates = given === undefined ? NAMES : [given]
  const found = candidates.map((name) => resolve(folder, name)).find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new CommandFailure(
    EXIT.config,
    given === undefined
      ? 'This folder has no strongroom.config.ts. Make one with `strongroom init`, or name one with --config.'
      : `The configuration ${given} does not exist. Make one with \`strongroom init\`.`,
  )
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw faulty(file, ['it is no JSON'])
  }
}

/** A configuration can name the module of its schema, which JSON cannot contain. */
async function withSchema(
  loaded: unknown,
  { pathOf, note }: { readonly pathOf: (path: string) => string; readonly note: (sentence: string) => void },
): Promise<unknown> {
  const vault = memberOf(loaded, 'vault')
  const path = memberOf(vault, 'schema')
  if (typeof path !== 'string') return loaded
  const module = await importModule(pathOf(path), note)
  const schema = memberOf(module, 'schema') ?? memberOf(module, 'default')
  return { ...Object(loaded), vault: { ...Object(vault), schema } }
}

async function importDefault(file: string, note: (sentence: string) => void): Promise<unknown> {
  const module = await importModule(file, note)
  const config = memberOf(module, 'default')
  if (config === undefined) throw faulty(file, ['it has no default export: `export default defineConfig({ … })`'])
  return config
}

async function importModule(file: string, note: (sentence: string) => void): Promise<unknown> {
  try {
    return await quietly(() => import(pathToFileURL(file).href))
  } catch (error) {
    if (!isOfLoader(error)) throw unreadable(file, error)
    note(`${file}: Node does not load it (${describeError(error)}); jiti does.`)
  }
  try {
    const { createJiti } = await import('jiti/static')
    // Its cache would keep a copy of the configuration in the temporary folder.
    return await createJiti(import.meta.url, { fsCache: false, tsconfigPaths: true }).import(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** A SyntaxError is also what a type imported without `type` ends with, before any code has run. */
function isOfLoader(error: unknown): boolean {
  return error instanceof SyntaxError || OF_LOADER.has(codeOf(error) ?? '')
}

/**
 * Runs work without the warnings of Node's loader, which belong to how it is read and not to what is read. One of them, for a package of type
 * commonjs as `npm init` makes it, does not pass through `process.emitWarning`, so it is the listeners that are away.
 */
async function quietly<Value>(work: () => Promise<Value>): Promise<Value> {
  const listeners = process.listeners('warning')
  process.removeAllListeners('warning')
  try {
    return await work()
  } finally {
    for (const listener of listeners) process.on('warning', listener)
  }
}

/** What a configuration throws can quote a secret, so an error of the library is shown, and of others the kind and the place. */
function unreadable(file: string, cause: unknown): CommandFailure {
  return new CommandFailure(EXIT.config, `${file} cannot be loaded: ${describeError(cause)}`, { cause })
}

function describeError(error: unknown): string {
  if (isOfSyntax(error)) return 'it has a syntax error. Check it with a TypeScript compiler.'
  const code = codeOf(error)
  if (code?.startsWith('ERR_')) return code
  if (isVaultError(error) || error instanceof CommandFailure || !(error instanceof Error)) return sentenceOf(error)
  return `its code throws ${error.name}. The text of the error is not shown, because it can quote a secret.`
}

/** The parser of jiti has errors of no class of their own. */
function isOfSyntax(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && error.message.startsWith('ParseError: '))
}

function faulty(file: string, faults: readonly string[]): CommandFailure {
  return new CommandFailure(EXIT.config, faults.map((fault) => `${file}: ${fault}`).join('\n'))
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
