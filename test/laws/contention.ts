/** Law: processes that change the same records at once lose no change. */
import { join } from 'node:path'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { type ContentionTrial, runContentionTrial } from '../support/trials/contention-trial.ts'
import { inFolder } from '../support/trials/folder.ts'
import { figureOf, type TrialReport } from '../support/trials/report.ts'
import type { Law } from './law.ts'

/** Time in which callers begin operations, on each engine, in milliseconds. The processes begin together. */
const DURATION_MS = 300

export const contention: Law = {
  name: 'contention',
  statement: 'Four processes of eight callers that change the same records lose no change and store none in part',
  unit: 'operations',
  figures: { test: 64, soak: 100_000 },
  weight: 2,
  open: ({ postgresUrl }) => ({
    // A case is on both engines, so that no figure is reached on one alone.
    check: async ({ seed }) => figureOf(await contendOnSqlite(seed)) + figureOf(await contendOnPostgres(postgresUrl, seed)),
  }),
}

type Control = Pick<ContentionTrial, 'isTorn' | 'processes'>

/** The part of a case on SQLite. */
export function contendOnSqlite(seed: string, control: Control = {}): Promise<TrialReport> {
  return inFolder((folder) => {
    const address = { engine: 'sqlite', filename: join(folder, 'vault.db') } as const
    return runContentionTrial({ address, seed, milliseconds: DURATION_MS, ...control })
  })
}

/** The part of a case on PostgreSQL. */
export async function contendOnPostgres(postgresUrl: string, seed: string, control: Control = {}): Promise<TrialReport> {
  const database = await freshDatabase(postgresUrl)
  try {
    const address = { engine: 'postgres', url: database.url } as const
    return await runContentionTrial({ address, seed, milliseconds: DURATION_MS, ...control })
  } finally {
    await database.drop()
  }
}
