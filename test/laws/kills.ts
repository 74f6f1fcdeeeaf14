/** Law: what was acknowledged is stored when processes are killed, and on PostgreSQL the server with them. */
import { join } from 'node:path'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { startPostgres } from '../support/postgres/server.ts'
import { inFolder } from '../support/trials/folder.ts'
import { type KillTrial, runKillTrial } from '../support/trials/kill-trial.ts'
import { figureOf, type TrialReport } from '../support/trials/report.ts'
import type { Law } from './law.ts'

/** Kills of one case: two rounds. The server crashes in the first and must serve the second. */
const KILLS = 4

export const kills: Law = {
  name: 'kills',
  statement: 'Killed processes and servers lose nothing acknowledged and leave nothing stored in part',
  unit: 'kills',
  figures: { test: 8, soak: 5000 },
  weight: 3,
  async open() {
    // A server of its own: it crashes, and waits for the disk as in production.
    const server = await startPostgres({ durable: true })
    return {
      async check({ number, seed }) {
        if (number % 2 === 0) return figureOf(await killSqlite(seed))
        const database = await freshDatabase(server.url)
        const address = { engine: 'postgres', url: database.url } as const
        const report = await inFolder((directory) =>
          runKillTrial({ address, directory, seed, kills: KILLS, crashServer: () => server.crashAndRestart() }),
        )
        await database.drop()
        return figureOf(report)
      },
      close: () => server.stop(),
    }
  },
}

/** One case on SQLite. */
export function killSqlite(
  seed: string,
  options: Pick<KillTrial, 'acknowledgeEarly' | 'maxFailures'> = {},
): Promise<TrialReport> {
  return inFolder((directory) => {
    const address = { engine: 'sqlite', filename: join(directory, 'vault.db') } as const
    return runKillTrial({ address, directory, seed, kills: KILLS, ...options })
  })
}
