/** The work of `strongroom import`. */
import { access, constants, type FileHandle, open, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import process from 'node:process'
import { type ImportOptions, importRecords } from '../../transfer/index.ts'
import type { CommandRun, CommandWork } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { recordFormat } from './record-format.ts'

/** Rejects that are shown where they go to no file. */
const SHOWN_REJECTS = 10

export const importCommand: CommandWork = async (run) => {
  const { options, output, signal } = run
  const [table = '', file = ''] = run.args
  const isStandardInput = file === '-'
  const given = optionsOf(run, isStandardInput ? undefined : file)
  const mapping = await readMapping(options.text('mapping'))
  if (!isStandardInput) await access(file, constants.R_OK)
  const session = await run.openSession()
  const rejects = await openRejects(run)
  const progress = output.progress('records')
  try {
    const summary = await importRecords(session, {
      ...given,
      ...mapping,
      ...(options.text('delimiter') !== undefined && { delimiter: options.text('delimiter') ?? '' }),
      table,
      source: isStandardInput ? process.stdin : file,
      signal,
      onReject: rejects.add,
      onProgress: ({ records, bytes, totalBytes }) =>
        progress({ done: records, total: totalBytes === undefined ? undefined : Math.round((records * totalBytes) / bytes) }),
    })
    output.result(summary, ({ stored, rejected, skipped, rejectedBefore }) => [
      given.dryRun === true
        ? `Would store ${stored} records in ${table}, and reject ${rejected}.`
        : `Stored ${stored} records in ${table}, and rejected ${rejected}.`,
      ...(skipped === 0 ? [] : [`Earlier runs had stored ${skipped - rejectedBefore}, and rejected ${rejectedBefore}.`]),
    ])
    return summary.rejected + summary.rejectedBefore > 0 ? EXIT.found : EXIT.done
  } finally {
    await rejects.close()
  }
}

type Given = Omit<ImportOptions, 'table' | 'source'>

function optionsOf({ options }: CommandRun, file: string | undefined): Given {
  const name = options.text('name') ?? (file === undefined ? undefined : basename(file))
  const upsert = options.text('upsert')?.split(',')
  const batchSize = options.integer('batch', { min: 1 })
  return {
    ...recordFormat(options, file),
    dryRun: options.isSet('dryRun'),
    ...(name !== undefined && { name }),
    ...(file !== undefined && { sourceName: basename(file) }),
    ...(upsert !== undefined && { upsert }),
    ...(batchSize !== undefined && { batchSize }),
  }
}

const MAPPED: ReadonlySet<string> = new Set(['columns', 'delimiter', 'trim', 'empty'] satisfies (keyof ImportOptions)[])

/** Reads the options of a mapping file. The import checks their values. */
async function readMapping(file: string | undefined): Promise<Partial<Given>> {
  if (file === undefined) return {}
  let mapping: unknown
  try {
    mapping = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new CommandFailure(EXIT.usage, `${file} is not JSON.`)
  }
  const isObject = typeof mapping === 'object' && mapping !== null && !Array.isArray(mapping)
  const unknown = isObject ? Object.keys(mapping as object).find((name) => !MAPPED.has(name)) : ''
  if (unknown !== undefined)
    throw new CommandFailure(
      EXIT.usage,
      `${file} must be an object with columns, and with delimiter, trim and empty where they are needed.`,
    )
  return mapping as Partial<Given>
}

/** Where rejects go. */
interface Rejects {
  readonly add: NonNullable<ImportOptions['onReject']>
  readonly close: () => Promise<void>
}

/** Opens the file of the rejects. An import that goes on passes those of its last batch again, and none is in the file twice. */
async function openRejects({ options, output }: CommandRun): Promise<Rejects> {
  const file = options.text('rejects')
  if (file === undefined) {
    let shown = 0
    return {
      async add({ line, reason }) {
        shown += 1
        if (shown <= SHOWN_REJECTS) output.note(`Line ${line}: ${reason}`)
        if (shown === SHOWN_REJECTS + 1) output.note('More are rejected. --rejects <file> has them all.')
      },
      close: async () => {},
    }
  }
  const handle: FileHandle = await open(file, 'a+', 0o600)
  const before = await handle.readFile('utf8')
  const written = new Set(before.split('\n'))
  // The last line of a run that was killed, or whose disk was full.
  if (before !== '' && !before.endsWith('\n')) await handle.appendFile('\n')
  return {
    async add(reject, { isRepeated }) {
      const line = JSON.stringify(reject)
      // Records of another source can be rejected at the same line for the same reason.
      if (!(isRepeated && written.has(line))) await handle.appendFile(`${line}\n`)
    },
    close: () => handle.close(),
  }
}
