/** The work of `strongroom export`. */
import { exportRecords } from '../../transfer/index.ts'
import { REDACTIONS, readWhere } from '../admin/read-records.ts'
import type { CommandWork } from '../command.ts'
import { EXIT } from '../failure.ts'
import { writeNewFile } from '../output/new-file.ts'
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
  let done = 0
  const onProgress = ({ records }: { readonly records: number }) => {
    done = records
    progress({ done })
  }
  const pieces = exportRecords(session, { ...given, onProgress })
  if (out === undefined) {
    for await (const piece of pieces) await output.piece(piece)
    return EXIT.done
  }
  await writeNewFile(out, pieces)
  output.result({ file: out, records: done }, () => `Wrote ${done.toLocaleString('en-US')} records to ${out}.`)
  return EXIT.done
}
