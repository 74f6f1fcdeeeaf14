/** Records at the caller's levels: `get`, `query` and `detokenize`. */
import { readFile } from 'node:fs/promises'
import { isVaultError, type QueryValue, type SessionGetOptions, type TableDefinition } from '../../index.ts'
import type { CommandRun, CommandWork } from '../command.ts'
import type { AnySession } from '../config/any-vault.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { Row } from '../output/cells.ts'
import { readInput, readLines } from './input.ts'

/** The levels of `--redaction`. */
export const REDACTIONS = ['DEFAULT', 'PLAIN_TEXT', 'MASKED', 'REDACTED'] as const
/** Records of one page, where more than one is read. */
const PAGE = 500
/** Tokens of one call. */
const TOKENS_AT_ONCE = 1000

/** The work of `strongroom get`. */
export const get: CommandWork = async (run) => {
  const { options, output, signal } = run
  const [table = '', ...ids] = run.args.filter((arg) => arg !== undefined)
  const limit = options.integer('limit', { min: 1 }) ?? 25
  const where = await readWhere(run, table)
  const redaction = options.word('redaction', REDACTIONS)
  const columns = options.list('columns').flatMap((list) => list.split(','))
  const after = options.text('after')
  const read: SessionGetOptions<TableDefinition> = {
    signal,
    ...(redaction === undefined ? {} : { redaction }),
    ...(columns.length === 0 ? {} : { fields: columns }),
    ...(options.isSet('tokens') ? { tokenization: true } : {}),
    ...(where === undefined ? {} : { where }),
  }
  const session = await run.openSession()
  if (ids.length > 0) {
    const { records } = await session.get(table, { ...read, ids })
    output.rows(records.map(rowOf))
    return undefined
  }
  const { rows, next } = await readPages(session, table, { read, limit, after })
  output.rows(rows)
  if (next !== undefined) output.note(`There are more. Go on with --after ${next}`)
  return undefined
}

async function readPages(
  session: AnySession,
  table: string,
  { read, limit, after }: { read: SessionGetOptions<TableDefinition>; limit: number; after: string | undefined },
): Promise<{ rows: Row[]; next: string | undefined }> {
  const rows: Row[] = []
  let from = after
  do {
    const page = { limit: Math.min(PAGE, limit - rows.length), ...(from === undefined ? {} : { after: from }) }
    const { records, next } = await session.get(table, { ...read, ...page })
    for (const record of records) rows.push(rowOf(record))
    from = next
  } while (from !== undefined && rows.length < limit)
  return { rows, next: from }
}

/** A record as a row: its id before its fields. */
function rowOf({ id, fields }: { readonly id: string; readonly fields: object }): Row {
  return { id, ...fields }
}

/** Returns the look-up of `--where column=value`, or of a column whose values are lines of standard input. */
export async function readWhere(run: CommandRun, table: string): Promise<Record<string, unknown> | undefined> {
  const text = run.options.text('where')
  if (text === undefined) return undefined
  const { config } = await run.loadConfig()
  const end = text.indexOf('=')
  const column = end < 0 ? text : text.slice(0, end)
  if (end < 0) return { [column]: await readLines(run.signal) }
  const definition: unknown = Reflect.get(Object(Reflect.get(config.vault.schema.tables, table)), column)
  if (Reflect.get(Object(definition), 'encrypted') === false) return { [column]: text.slice(end + 1) }
  throw new CommandFailure(
    EXIT.usage,
    `Column ${column} is sealed, and shells keep what is typed. Specify --where ${column}, and pass its values on standard input, one a line.`,
  )
}

/** The work of `strongroom query`. */
export const query: CommandWork = async (run) => {
  const { options, output, signal } = run
  const [text] = run.args
  const file = options.text('file')
  if ((text === undefined) === (file === undefined))
    throw new CommandFailure(EXIT.usage, 'Specify the query as an argument, or a file with it as --file; - is standard input.')
  const from = options.text('values')
  if (from === '-' && file === '-') throw new CommandFailure(EXIT.usage, 'Only one of --file and --values can be standard input.')
  const sql = text ?? (await readText(file ?? '', signal))
  const values = from === undefined ? [] : parseValues(await readText(from, signal))
  const session = await run.openSession()
  const { records, isCut } = await session.query(sql, values, { signal })
  output.rows(records.map(({ fields }) => fields as Row))
  if (isCut) output.note(`The query has more than these ${records.length} records. Narrow it, or page with OFFSET.`)
  return undefined
}

async function readText(file: string, signal: AbortSignal): Promise<string> {
  if (file === '-') return readInput(signal)
  if (file.trimStart().startsWith('['))
    throw new CommandFailure(
      EXIT.usage,
      '--values is a file with a JSON array, or - for standard input: shells keep what is typed.',
    )
  return readFile(file, 'utf8')
}

function parseValues(text: string): readonly QueryValue[] {
  let values: unknown
  try {
    values = JSON.parse(text)
  } catch {
    values = undefined
  }
  // The query checks each of them.
  if (Array.isArray(values)) return values
  throw new CommandFailure(EXIT.usage, '--values must have a JSON array: the values of $1, $2 and so on.')
}

/** The work of `strongroom detokenize`. */
export const detokenize: CommandWork = async (run) => {
  const { options, output, signal } = run
  const redaction = options.word('redaction', REDACTIONS)
  const args = run.args.filter((arg) => arg !== undefined)
  const tokens = args.length === 0 || args[0] === '-' ? await readLines(signal) : args
  const session = await run.openSession()
  const rows: Row[] = []
  for (let start = 0; start < tokens.length; start += TOKENS_AT_ONCE) {
    signal.throwIfAborted()
    const asked = tokens.slice(start, start + TOKENS_AT_ONCE)
    const parameters = asked.map((token) => ({ token, ...(redaction === undefined ? {} : { redaction }) }))
    for (const row of await valuesOf(session, parameters)) rows.push(row)
  }
  const missing = rows.filter(({ error }) => error !== undefined).length
  output.rows(rows)
  if (missing === 0) return undefined
  output.note(`${missing} of ${tokens.length} tokens have no value.`)
  return EXIT.found
}

type DetokenizeParameter = Parameters<AnySession['detokenize']>[0][number]

/** Tokens of which none has a value fail as a whole. */
async function valuesOf(session: AnySession, parameters: readonly DetokenizeParameter[]): Promise<readonly Row[]> {
  try {
    const { records } = await session.detokenize(parameters, { continueOnError: true })
    return records.map(({ token, table, column, value, code }) =>
      code === undefined ? { token, table, column, value } : { token, error: code },
    )
  } catch (error) {
    if (!isVaultError(error, 'not_found')) throw error
    return parameters.map(({ token }) => ({ token, error: error.code }))
  }
}
