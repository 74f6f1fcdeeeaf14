/** Measures what many open vaults cost, a vault for each tenant: `node benchmarks/tenants.ts [vaults]`. docs/scaling.md has the result. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { localKeys } from '../src/adapters/keys/index.ts'
import { postgresStorage } from '../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema, type Vault } from '../src/index.ts'
import type { StorageHandle } from '../src/storage-port.ts'
import { startPostgres } from '../test/support/postgres/server.ts'

/** Vaults that are opened before anything is measured, so that the code is compiled. */
const WARM_UP = 10

const columns = { name: column.string({ token: 'random' }), email: column.string({ unique: true }), born: column.date() }
const schema = defineSchema({ customers: columns, orders: columns, payments: columns })
const keys = localKeys({ key: Buffer.from(Array.from({ length: 32 }, (_, byte) => byte)).toString('base64') })
const OWNER = { actor: 'tenants', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] } as const

type TenantVault = Vault<(typeof schema)['tables']>

/** Opens the storage of a tenant. */
type OpenStorage = (tenant: number) => StorageHandle

/** What the process has used, and what it holds. */
interface Usage {
  readonly cpuMs: number
  readonly wallMs: number
  readonly residentKiB: number
  readonly descriptors: number
}

function usage(): Usage {
  global.gc?.()
  const { user, system } = process.cpuUsage()
  return {
    cpuMs: (user + system) / 1000,
    wallMs: performance.now(),
    residentKiB: process.memoryUsage.rss() / 1024,
    descriptors: readdirSync('/proc/self/fd').length,
  }
}

async function writeAndRead(vault: TenantVault): Promise<void> {
  const { records } = await vault.as(OWNER).insert('customers', [{ fields: { name: 'Ann' } }])
  await vault.as(OWNER).getOne('customers', records[0]?.id ?? '')
}

/** Opens vaults one after the other and leaves them open. Returns what each cost. */
async function openAll(count: number, openStorage: OpenStorage, isUsed: boolean): Promise<Usage> {
  const vaults: TenantVault[] = []
  const open = async (tenant: number): Promise<void> => {
    const vault = await createVault({ id: `tenant-${tenant}`, schema, storage: openStorage(tenant), keys })
    vaults.push(vault)
    if (isUsed) await writeAndRead(vault)
  }
  for (let tenant = 0; tenant < WARM_UP; tenant++) await open(tenant)
  const before = usage()
  for (let tenant = WARM_UP; tenant < WARM_UP + count; tenant++) await open(tenant)
  const after = usage()
  const each = (member: keyof Usage) => (after[member] - before[member]) / (vaults.length - WARM_UP)
  return { cpuMs: each('cpuMs'), wallMs: each('wallMs'), residentKiB: each('residentKiB'), descriptors: each('descriptors') }
}

function storagesAt(address: string): OpenStorage {
  if (!address.startsWith('postgres')) return (tenant) => sqliteStorage({ filename: join(address, `${tenant}.db`) })
  const pool = new pg.Pool({ connectionString: address })
  return (tenant) => postgresStorage({ pool, schema: `tenant_${tenant}` })
}

const PHASES = ['founded', 'opened again', 'opened again, a write and a read'] as const

/** Each phase is a process of its own, so that memory of the one before is not used again. */
function measure(engine: string, address: string, count: number): void {
  for (const phase of PHASES) {
    const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', import.meta.filename, String(count), address, phase], {
      encoding: 'utf8',
    })
    console.log(`${engine}, ${phase}: ${stdout.trim()}${stderr}`)
  }
}

const [given, address, phase] = process.argv.slice(2)
const count = Number(given ?? 100)
if (address === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-tenants-'))
  measure('SQLite, a file each', folder, count)
  rmSync(folder, { recursive: true })
  const server = await startPostgres()
  measure('PostgreSQL, a schema each and one pool', server.url, count)
  await server.stop()
} else {
  const { cpuMs, wallMs, residentKiB, descriptors } = await openAll(count, storagesAt(address), phase === PHASES[2])
  console.log(
    `${cpuMs.toFixed(1)} ms CPU, ${wallMs.toFixed(1)} ms, ${residentKiB.toFixed(0)} KiB, ${descriptors.toFixed(0)} descriptors a vault`,
  )
  process.exit()
}
