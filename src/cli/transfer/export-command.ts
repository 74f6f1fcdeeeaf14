/** The work of `strongroom export`. */
import { exportRecords } from '../../transfer/index.ts'
import { REDACTIONS, readWhere } from '../admin/read-records.ts'
import type { CommandWork } from '../command.ts'
import { EXIT } from '../failure.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { writeNewFile } from './new-file.ts'
import { recordFormat } from './record-format.ts'

export const exportCommand: CommandWork = async (run) => {
  const { options, output, signal } = run
  const [table = ''] = run.args
  const out = options.text('out')
  const columns = options.list('columns').flatMap((list) => list.split(','))
  const redaction = options.word('redaction', REDACTIONS)
  const idName = options.text('idName')
  const where = await readWhere(run, table)
  const given = {
    ...recordFormat(options, out, output.isJson ? 'ndjson' : 'csv'),
    table,
    signal,
    ...(columns.length > 0 && { columns }),
    ...(redaction !== undefined && { redaction }),
    ...(idName !== undefined && { idName }),
    ...(where !== undefined && { where, areTexts: true }),
    ...(options.isSet('tokens') && { tokenization: true }),
    ...(options.isSet('complete') && { onLowered: 'throw' as const }),
  }
  const session = await run.openSession()
  const progress = output.progress('records')
  const pieces = exportRecords(session, { ...given, onProgress: ({ records }) => progress({ done: records }) })
  if (out === undefined) for await (const piece of pieces) await output.piece(piece)
  else await writeNewFile(out, pieces)
  return EXIT.done
}

/** Writes a new file, and leaves none behind that is not whole. */
async function writeFile(file: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    for await (const piece of pieces) await handle.writeFile(piece)
    await handle.sync()
  } catch (error) {
    await unlink(file)
    throw error
  } finally {
    await handle.close()
  }
function whereOf(condition: string | undefined): Readonly<Record<string, string>> | undefined {
  if (condition === undefined) return undefined
  const at = condition.indexOf('=')
  if (at < 1) throw new CommandFailure(EXIT.usage, '--where must be a column and a value, such as country=SE.')
  return { [condition.slice(0, at)]: condition.slice(at + 1) }
}
