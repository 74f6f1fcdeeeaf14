/** The work of `strongroom audit export`. */
import type { CommandWork } from '../command.ts'
import { writeLines } from '../output/write-lines.ts'
import { readCheckpoints } from './audit-files.ts'

export const auditExport: CommandWork = async ({ options, output, signal, openVault }) => {
  const checkpoints = await readCheckpoints(options.list('checkpoint'))
  const file = options.text('to')
  const vault = await openVault()
  await writeLines(output, file, vault.exportAudit({ checkpoints, signal }))
  return undefined
}
