/** Law: what was acknowledged is stored once when connections to PostgreSQL are cut. */
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { type ConnectionCutsTrial, runConnectionCutsTrial } from '../support/trials/connection-cuts-trial.ts'
import { figureOf, type TrialReport } from '../support/trials/report.ts'
import type { Law } from './law.ts'

/** Cuts of one case. */
const CUTS = 10

export const connectionCuts: Law = {
  name: 'connection-cuts',
  statement: 'Cut connections to PostgreSQL lose nothing acknowledged, store nothing twice, and later operations work',
  unit: 'cuts',
  figures: { test: 20, soak: 10_000 },
  weight: 2,
  open: ({ postgresUrl }) => ({ check: async ({ seed }) => figureOf(await cutConnections(postgresUrl, seed)) }),
}

/** One case. `postgresUrl` is a superuser's address. */
export async function cutConnections(
  postgresUrl: string,
  seed: string,
  options: Pick<ConnectionCutsTrial, 'acknowledgeEarly'> = {},
): Promise<TrialReport> {
  const database = await freshDatabase(postgresUrl)
  try {
    return await runConnectionCutsTrial({ url: database.url, seed, cuts: CUTS, ...options })
  } finally {
    await database.drop()
  }
}
