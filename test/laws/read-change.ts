/** Law: processes that read a record and write it back lose no change. */
import { join } from 'node:path'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { inFolder } from '../support/trials/folder.ts'
import { type ReadChangeTrial, runReadChangeTrial } from '../support/trials/read-change-trial.ts'
import { figureOf, type TrialReport } from '../support/trials/report.ts'
import type { Law } from './law.ts'

/** Time in which writers begin changes, on each engine, in milliseconds. The processes begin together. */
const DURATION_MS = 400

export const readChange: Law = {
  name: 'read-change',
  statement: 'Eight writers in three processes that read a counter and a set and write them back lose no change',
  unit: 'changes',
  figures: { test: 8, soak: 5000 },
  weight: 1,
  open: ({ postgresUrl }) => ({
    // A case is on both engines, so that no figure is reached on one alone.
    check: async ({ seed }) => figureOf(await changeOnSqlite(seed)) + figureOf(await changeOnPostgres(postgresUrl, seed)),
  }),
}

type Control = Pick<ReadChangeTrial, 'isBlind'>

/** The part of a case on SQLite. */
export function changeOnSqlite(seed: string, control: Control = {}): Promise<TrialReport> {
  return inFolder((folder) => {
    const address = { engine: 'sqlite', filename: join(folder, 'vault.db') } as const
    return runReadChangeTrial({ address, seed, milliseconds: DURATION_MS, ...control })
  })
}

/** The part of a case on PostgreSQL. */
export async function changeOnPostgres(postgresUrl: string, seed: string, control: Control = {}): Promise<TrialReport> {
  const database = await freshDatabase(postgresUrl)
  try {
    const address = { engine: 'postgres', url: database.url } as const
    return await runReadChangeTrial({ address, seed, milliseconds: DURATION_MS, ...control })
  } finally {
    await database.drop()
  }
}
