/** Law: files that were acknowledged are whole when processes are killed, and the purge leaves nothing of the others. */
import { join } from 'node:path'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { type FileKillTrial, runFileKillTrial } from '../support/trials/file-kill-trial.ts'
import { inFolder } from '../support/trials/folder.ts'
import { figureOf, type TrialReport } from '../support/trials/report.ts'
import type { Law } from './law.ts'

/** Kills of one case: two rounds. */
const KILLS = 4

export const fileKills: Law = {
  name: 'file-kills',
  statement: 'Killed processes lose no acknowledged file, leave none in part, and no row or blob that the purge does not remove',
  unit: 'kills',
  figures: { test: 8, soak: 5000 },
  weight: 2,
  open: ({ postgresUrl }) => ({
    async check({ number, seed }) {
      // Two cases have both engines and both stores, four have each with each.
      const store = number % 4 === 0 || number % 4 === 3 ? 'folder' : 'database'
      if (number % 2 === 0) return figureOf(await killFileWriters({ seed, store }))
      const database = await freshDatabase(postgresUrl)
      const address = { engine: 'postgres', url: database.url } as const
      const report = await inFolder((directory) => runFileKillTrial({ address, directory, seed, store, kills: KILLS }))
      await database.drop()
      return figureOf(report)
    },
  }),
}

/** One case on SQLite. */
export function killFileWriters(
  options: Pick<FileKillTrial, 'seed' | 'store' | 'acknowledgeEarly' | 'maxFailures'>,
): Promise<TrialReport> {
  return inFolder((directory) => {
    const address = { engine: 'sqlite', filename: join(directory, 'vault.db') } as const
    return runFileKillTrial({ address, directory, kills: KILLS, ...options })
  })
}
