/** The server of one process over a vault in memory, in the process of the test. */
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import type { HttpConfig, ServerConfig } from '../../../src/cli/config/server-config.ts'
import { serverShape } from '../../../src/cli/config/server-shape.ts'
import { handlerOptions } from '../../../src/cli/serve/handler-options.ts'
import { createServerLog } from '../../../src/cli/serve/server-log.ts'
import { createServerMetrics, metricsText } from '../../../src/cli/serve/server-metrics.ts'
import { createVaultServer, type Learned, type VaultServer } from '../../../src/cli/serve/vault-server.ts'
import { createApiKey } from '../../../src/http/index.ts'
import { createVault, type Vault } from '../../../src/index.ts'
import { type Answer, type AskOptions, ask } from '../http/ask.ts'
import { listen } from '../http/serve-vault.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'
import { schema } from './served-schema.ts'

/** A server, and what it writes. */
export interface OpenServer {
  readonly server: VaultServer
  readonly vault: Vault<(typeof schema)['tables']>
  readonly port: number
  readonly key: { readonly keyId: string; readonly apiKey: string }
  /** What was passed to other workers. */
  readonly shared: Learned[]
  /** The lines of the log. */
  readonly lines: string[]
  metrics(): Promise<string>
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>
}

/** Opens a server. `takes`: another server accepts its connections, as the primary of workers does. */
export async function openServer({
  server: given = {},
  http,
  takes = false,
}: {
  readonly server?: ServerConfig
  readonly http?: HttpConfig
  readonly takes?: boolean
} = {}): Promise<OpenServer> {
  const lines: string[] = []
  const shared: Learned[] = []
  const log = createServerLog('debug', { write: (line) => void lines.push(line) })
  const metrics = createServerMetrics()
  const vault = await createVault({
    id: 'main',
    schema,
    storage: memoryStorage(),
    keys: localKeys({ key: TEST_SECRET }),
    policy: { support: ['ALLOW READ ON customers.* WITH REDACTION = MASKED'] },
    metrics: metrics.ofVault,
    log,
  })
  const key = await createApiKey(vault.as(OWNER), { name: 'owner', roles: ['VAULT_OWNER'] })
  const handler = { ...handlerOptions({ vault: { id: 'main' }, ...(http === undefined ? {} : { http }) }), vaults: vault }
  const settings = serverShape.parse({ port: 0, ...given })
  const server = await createVaultServer({
    handler,
    server: settings,
    log,
    metrics,
    share: (learned) => void shared.push(learned),
  })
  const port = takes
    ? await listen(createServer({ pauseOnConnect: true }, (socket) => server.take(socket)))
    : await server.listen()
  onTestFinished(async () => {
    server.cut()
    await server.drain(100)
    await vault.close()
  })
  return {
    server,
    vault,
    port,
    key,
    shared,
    lines,
    metrics: async () => (await metricsText([await metrics.read()])).text,
    ask: (method, path, options) => ask(port, [method, path], { credential: key.apiKey, ...options }),
  }
}
