/** The work of `strongroom move`. */
import { moveVault, reopenVault } from '../../transfer/index.ts'
import type { CommandRun, CommandWork } from '../command.ts'
import type { StorageConfig } from '../config/define-config.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { watch } from '../watch.ts'
import { noteContents, verifyCopy, withStorage } from './copied-vault.ts'

export const moveCommand: CommandWork = async (run) => {
  const { options, output } = run
  if (options.isSet('reopen')) {
    const copyIsDestroyed = options.isSet('copyIsDestroyed')
    await withStorage(run, (storage) => reopenVault(storage, { copyIsDestroyed }))
    output.result({ reopened: true }, () => 'The vault opens here again. Never use the copy.')
    return EXIT.done
  }
  const target = targetOf(run)
  const moved = await withStorage(run, (from) => withStorage(run, (to) => moveVault({ from, to, ...watch(run, 'rows') }), target))
  const { verified, line, exitCode } = await verifyCopy(run, target)
  await noteContents(run, 'They stay there, and the moved vault uses the same store.')
  output.result({ ...moved, verified }, ({ rowCount, closedMs }) => [
    `Moved ${rowCount} rows. The vault was closed for ${Math.ceil(closedMs)} ms.`,
    line,
    'Set vault.storage of the configuration to the new place, and start what uses the vault again.',
  ])
  return exitCode
}

function targetOf({ options }: CommandRun): StorageConfig {
  const [file, variable, schema] = [options.text('toSqlite'), options.text('toPostgresEnv'), options.text('toSchema')]
  if (file !== undefined && variable === undefined) return { sqlite: { filename: file } }
  if (variable !== undefined && file === undefined)
    return { postgres: { connectionString: { env: variable }, ...(schema !== undefined && { schema }) } }
  throw new CommandFailure(EXIT.usage, 'Name one storage to move to, with --to-sqlite or --to-postgres-env.')
}
