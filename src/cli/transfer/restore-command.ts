/** The work of `strongroom restore`. */
import { access, constants, open, readFile } from 'node:fs/promises'
import process from 'node:process'
import { restoreVault } from '../../transfer/index.ts'
import type { CommandWork } from '../command.ts'
import { watch } from '../watch.ts'
import { noteContents, verifyCopy, withStorage } from './copied-vault.ts'

export const restoreCommand: CommandWork = async (run) => {
  const { options, output } = run
  const files = run.args.filter((file) => file !== undefined)
  for (const file of files) if (file !== '-') await access(file, constants.R_OK)
  const privateKey = options.text('privateKey')
  const key = privateKey === undefined ? {} : { privateKey: await readFile(privateKey, 'utf8') }
  const restored = await withStorage(run, (to) => {
    const backups = files.map((file) => (file === '-' ? process.stdin : readLater(file)))
    return restoreVault({ to, backups, ...key, ...watch(run, 'rows') })
  })
  const { verified, line, exitCode } = await verifyCopy(run)
  await noteContents(run, 'Restore the copy of that store, too.')
  output.result({ ...restored, verified }, ({ rowCount }) => [
    `Restored ${rowCount} rows.`,
    line,
    'Never write to the original of this vault as well: both would give equal ids to different records.',
  ])
  return exitCode
}

/** Opens a file when it is its turn. */
async function* readLater(file: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file)
  yield* handle.createReadStream({ highWaterMark: 1024 * 1024 })
}
