/** The command `strongroom serve` as a process of its own, over a vault that the test founds and can open again. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { HttpConfig, ServerConfig } from '../../../src/cli/config/server-config.ts'
import { createApiKey } from '../../../src/http/index.ts'
import { type Caller, createVault, type Vault } from '../../../src/index.ts'
import { commandFolder, type RunningCommand, startCommand } from '../cli/run-command.ts'
import { type Answer, type AskOptions, ask } from '../http/ask.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { schema } from './served-schema.ts'

/** A folder with a configuration, and a vault that was founded. */
export interface ServedProject {
  readonly folder: string
  /** The key of an owner. */
  readonly apiKey: string
  /** Makes a key with these roles. */
  makeKey(roles: readonly string[]): Promise<{ readonly keyId: string; readonly apiKey: string }>
  /** Runs work on the vault, which is closed then. */
  withVault<T>(work: (vault: Vault<(typeof schema)['tables']>) => Promise<T>): Promise<T>
  /** Writes other sections of the configuration, or other members of its vault. */
  configure(sections: ServedSections): void
}

/** What the configuration has beside the vault. */
export interface ServedSections {
  /** Members of the vault in place of its own. */
  readonly vault?: object
  readonly server?: ServerConfig
  readonly http?: HttpConfig
}

/** A server that answers. */
export interface RunningServer {
  readonly command: RunningCommand
  readonly port: number
  readonly healthPort: number
  /** Sends a request with the key of the owner, if nothing else is said. */
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>
  /** Asks the port of operators. */
  askHealth(path: string): Promise<Answer>
}

/** Path of the records of every served vault. */
export const CUSTOMERS = '/v1/vaults/main/customers'

const OWNER: Caller = { actor: 'test', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] }
/** The schema as a file of the project. It imports the package, whose built form the command has loaded: the sources would be loaded beside it, by each worker. */
const SCHEMA = readFileSync(fileURLToPath(new URL('served-schema.ts', import.meta.url)), 'utf8').replace(
  /'[./]+\/src\/index\.ts'/,
  "'strongroom'",
)

/** Makes a project on an engine; `filename` is that of SQLite. What it stores is removed when the test has finished. */
export async function servedProject(
  engine: 'sqlite' | 'postgres',
  sections: ServedSections = {},
  filename = 'vault.db',
): Promise<ServedProject> {
  const folder = commandFolder()
  const address = engine === 'sqlite' ? { engine, filename: resolve(folder, filename) } : await postgresAddress()
  const withVault: ServedProject['withVault'] = async (work) => {
    const storage = openStorage(address)
    const vault = await createVault({ id: 'main', schema, storage, keys: localKeys({ file: join(folder, 'vault.key') }) })
    return work(vault).finally(() => vault.close())
  }
  const makeKey: ServedProject['makeKey'] = (roles) =>
    withVault((vault) => createApiKey(vault.as(OWNER), { name: 'test', roles: [...roles] }))
  const configure = (given: ServedSections): void => {
    const storage = address.engine === 'sqlite' ? { sqlite: { filename } } : { postgres: { connectionString: { file: 'url' } } }
    const vault = { id: 'main', storage, keys: { file: 'vault.key' }, ...given.vault }
    const text = `import { schema } from './schema.ts'\nexport default { vault: { schema, ...${JSON.stringify(vault)} }, http: ${JSON.stringify(given.http ?? {})}, server: ${JSON.stringify(given.server ?? {})} }\n`
    writeFileSync(join(folder, 'strongroom.config.ts'), text)
  }
  writeFileSync(join(folder, 'schema.ts'), SCHEMA)
  if (address.engine === 'postgres') writeFileSync(join(folder, 'url'), address.url, { mode: 0o600 })
  configure(sections)
  const { apiKey } = await makeKey(['VAULT_OWNER'])
  return { folder, apiKey, makeKey, withVault, configure }
}

async function postgresAddress(): Promise<Extract<StorageAddress, { engine: 'postgres' }>> {
  const database = await freshDatabase(inject('postgresUrl'))
  onTestFinished(() => database.drop())
  return { engine: 'postgres', url: database.url }
}

/** Starts the server on free ports, and waits until it answers. It is killed when the test has finished. */
export async function startServer({ folder, apiKey }: ServedProject, args: readonly string[] = []): Promise<RunningServer> {
  const command = startCommand(['serve', '--json', '--port', '0', '--health-port', '0', ...args], { folder })
  await command.waitFor('"health"')
  const { url, health } = JSON.parse(command.printed.stdout)
  const port = Number(new URL(url).port)
  const healthPort = Number(new URL(health).port)
  return {
    command,
    port,
    healthPort,
    ask: (method, path, options) => ask(port, [method, path], { credential: apiKey, ...options }),
    askHealth: (path) => ask(healthPort, ['GET', path], { credential: null }),
  }
}

/** Waits until all workers answer. */
export async function waitForWorkers({ askHealth }: RunningServer, count: number): Promise<void> {
  while (!(await askHealth('/metrics')).text.includes(`strongroom_workers_ready ${count}\n`))
    await new Promise((resolve) => setTimeout(resolve, 20))
}
