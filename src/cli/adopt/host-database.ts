/** Opens the database of a configuration once more, for the table of the application that is in it. */
import type { AdoptOptions } from '../../adopt/index.ts'
import type { SchemaDefinition } from '../../index.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { loaderOf } from '../config/load-driver.ts'
import { readAddress, type SecretSource } from '../config/secrets.ts'
import { CommandFailure, EXIT } from '../failure.ts'

type HostDatabase = AdoptOptions<SchemaDefinition>['database']

/** Opens it. Throws `CommandFailure` for a storage that is no database of an application. */
export async function openHostDatabase(
  { config, file, pathOf }: LoadedConfig,
  environment: SecretSource['environment'],
): Promise<{ readonly database: HostDatabase; close(): Promise<void> }> {
  const { storage } = config.vault
  if (typeof storage === 'function')
    throw new CommandFailure(
      EXIT.config,
      'vault.storage is a function. Adopting needs it as data: the sqlite or the postgres of the application.',
    )
  if ('sqlite' in storage) {
    if (storage.sqlite.driver === 'node:sqlite')
      throw new CommandFailure(
        EXIT.config,
        'vault.storage.sqlite.driver: adopting needs better-sqlite3. Leave the driver out meanwhile.',
      )
    const Database = loaderOf('better-sqlite3', file)('better-sqlite3') as new (
      filename: string,
    ) => HostDatabase & { close(): void }
    const database = new Database(pathOf(storage.sqlite.filename))
    return { database, close: async () => database.close() }
  }
  const connectionString = await readAddress(storage.postgres, { environment, pathOf })
  const { Pool } = loaderOf('pg', file)('pg') as {
    Pool: new (options: object) => HostDatabase & { end(): Promise<void>; on(event: 'error', listener: () => void): void }
  }
  const pool = new Pool({ connectionString, max: 2 })
  // The statement that is running reports it.
  pool.on('error', () => {})
  return { database: pool, close: () => pool.end() }
}
