/** Law: kills and losses of power amid merges of sealed indexes lose nothing of them, double nothing, and leave nothing that is not swept. */
import { join } from 'node:path'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import type { StorageAddress } from '../support/storages/open-storage.ts'
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
  open({ postgresUrl }) {
    let [kills, images, orphaned] = [0, 0, 0]
    return {
      async check({ number, seed }) {
        if (number % 3 === 1 && canRecord()) {
          const report = await inFolder((directory) => runMergePowerLoss({ directory, seed, images: IMAGES }))
          images += report.figure
          orphaned += report.orphaned
          return figureOf(report)
        }
        const kill = (address: (directory: string) => StorageAddress) =>
          inFolder((directory) => runMergeKills({ address: address(directory), directory, seed, kills: KILLS }))
        const database = number % 3 === 2 ? await freshDatabase(postgresUrl) : undefined
        const report = await kill((directory) =>
          database ? { engine: 'postgres', url: database.url } : { engine: 'sqlite', filename: join(directory, 'vault.db') },
        )
        await database?.drop()
        kills += report.figure
        orphaned += report.orphaned
        return figureOf(report)
      },
      met: () => `${kills} kills, ${images} images; ${orphaned} times blocks of no run were left, and swept`,
    }
  },
}
