/** Provides one real PostgreSQL to all tests of a run: the one of VAULT_TEST_POSTGRES_URL, or one that is started for the run. */
import type { TestProject } from 'vitest/node'
import { startPostgres } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's address; use `freshDatabase` to get a database of your own. */
    postgresUrl: string
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.VAULT_TEST_POSTGRES_URL
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given)
    return undefined
  }
  const server = await startPostgres()
  project.provide('postgresUrl', server.url)
  return () => server.stop()
}
