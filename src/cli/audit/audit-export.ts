/** The work of `strongroom audit export`. */
import type { CommandWork } from '../command.ts'
import { writeNewFile } from '../output/new-file.ts'
import { readCheckpoints } from './audit-files.ts'

/** Lines of a piece. */
const PIECE = 500

export const auditExport: CommandWork = async ({ options, output, signal, openVault }) => {
  const checkpoints = await readCheckpoints(options.list('checkpoint'))
  const file = options.text('to')
  const vault = await openVault()
  const onProgress = output.progress('lines')
  let done = 0
  async function* pieces(): AsyncGenerator<string> {
    let lines: string[] = []
    for await (const line of vault.exportAudit({ checkpoints, signal })) {
      lines.push(line)
      done++
      if (lines.length < PIECE) continue
      onProgress({ done })
      yield `${lines.join('\n')}\n`
      lines = []
    }
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
  if (file === undefined) for await (const piece of pieces()) await output.piece(piece)
  else {
    await writeNewFile(file, pieces())
    output.result({ file, lines: done }, () => `Wrote ${done.toLocaleString('en-US')} lines to ${file}.`)
  }
  return undefined
}
