/** Measures what many open vaults cost, a vault for each tenant: `node benchmarks/tenants.ts [vaults]`. docs/scaling.md has the result. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { localKeys } from '../src/adapters/keys/index.ts'
import { postgresStorage } from '../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../src/adapters/sqlite/index.ts'
import type { StorageHandle, Vault } from '../src/index.ts'
import { column, createVault, defineSchema } from '../src/index.ts'
import { startPostgres } from '../test/support/postgres/server.ts'

const VAULTS = Number(process.argv[2] ?? 200)
/** Vaults that are opened before anything is measured, so that the code is compiled. */
const WARM_UP = 20

const columns = { name: column.string({ token: 'random' }), email: column.string({ unique: true }), born: column.date() }
const schema = defineSchema({ customers: columns, orders: columns, payments: columns })
const keys = localKeys({ key: Buffer.from(Array.from({ length: 32 }, (_, byte) => byte)).toString('base64') })
const OWNER = { actor: 'tenants', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] } as const

/** Where the vault of a tenant is kept. */
type Place = (tenant: number) => StorageHandle
type TenantVault = Vault<(typeof schema)['tables']>

/** What the process holds. */
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

/** Opens vaults one after the other, and prints what each cost. They stay open until the end. */
async function openAll(title: string, place: Place, use: (vault: TenantVault) => Promise<unknown>): Promise<void> {
  const vaults: TenantVault[] = []
  const open = async (tenant: number): Promise<void> => {
    const vault = await createVault({ id: `tenant-${tenant}`, schema, storage: place(tenant), keys })
    vaults.push(vault)
    await use(vault)
  }
  for (let tenant = 0; tenant < WARM_UP; tenant++) await open(tenant)
  const before = usage()
  for (let tenant = WARM_UP; tenant < WARM_UP + VAULTS; tenant++) await open(tenant)
  const after = usage()
  const each = (member: keyof Usage) => ((after[member] - before[member]) / VAULTS).toFixed(2)
  console.log(
    `${title}: ${each('cpuMs')} ms CPU, ${each('wallMs')} ms, ${each('residentKiB')} KiB, ${each('descriptors')} descriptors a vault`,
  )
  for (const vault of vaults) await vault.close()
}

const untouched = async (): Promise<void> => {}
const oneRecord = async (vault: TenantVault): Promise<void> => {
  const { records } = await vault.as(OWNER).insert('customers', [{ fields: { name: 'Ann', email: 'ann@acme.example' } }])
  await vault.as(OWNER).getOne('customers', records[0]?.id ?? '')
}

async function measure(engine: string, place: Place): Promise<void> {
  await openAll(`${engine}, founded`, place, untouched)
  await openAll(`${engine}, opened again`, place, untouched)
  await openAll(`${engine}, opened again, a write and a read`, place, oneRecord)
}

const folder = mkdtempSync(join(tmpdir(), 'strongroom-tenants-'))
await measure('SQLite, a file each', (tenant) => sqliteStorage({ filename: join(folder, `${tenant}.db`) }))
rmSync(folder, { recursive: true })

const server = await startPostgres()
const pool = new pg.Pool({ connectionString: server.url })
await measure('PostgreSQL, a schema each and one pool', (tenant) => postgresStorage({ pool, schema: `tenant_${tenant}` }))
await pool.end()
await server.stop()
