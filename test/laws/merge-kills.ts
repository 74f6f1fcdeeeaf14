/** Law: kills and losses of power amid merges of sealed indexes lose nothing of them, double nothing, and leave nothing that is not swept. */
import { join } from 'node:path'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { inFolder } from '../support/trials/folder.ts'
import { runMergeKills, runMergePowerLoss } from '../support/trials/merge-trial.ts'
import { canRecord } from '../support/trials/power-loss-trial.ts'
import { figureOf } from '../support/trials/report.ts'
import type { Law } from './law.ts'

const KILLS = 4
const IMAGES = 4

export const mergeKills: Law = {
  name: 'merge-kills',
  statement:
    'Kills and losses of power amid merges of sealed indexes lose and double nothing of them, and what they leave is swept',
  unit: 'kills and images',
  figures: { test: 2 * KILLS + IMAGES, soak: 2000 },
  weight: 1,
  open: ({ postgresUrl }) => ({
    async check({ number, seed }) {
      if (number % 3 === 1 && canRecord())
        return figureOf(await inFolder((directory) => runMergePowerLoss({ directory, seed, images: IMAGES })))
      if (number % 3 !== 2) {
        return figureOf(
          await inFolder((directory) => {
            const address = { engine: 'sqlite', filename: join(directory, 'vault.db') } as const
            return runMergeKills({ address, directory, seed, kills: KILLS })
          }),
        )
      }
      const database = await freshDatabase(postgresUrl)
      const address = { engine: 'postgres', url: database.url } as const
      const report = await inFolder((directory) => runMergeKills({ address, directory, seed, kills: KILLS }))
      await database.drop()
      return figureOf(report)
    },
  }),
}
