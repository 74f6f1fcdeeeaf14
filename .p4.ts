import { column, createVault, defineSchema } from './src/index.ts'
import { localKeys } from './src/adapters/keys/index.ts'
import { memoryStorage } from './src/adapters/memory/index.ts'
import { sqliteStorage } from './src/adapters/sqlite/index.ts'
import { mkdtempSync, rmSync } from 'node:fs'
const [, , storage, audit, op, rounds = '20000'] = process.argv
const dir = mkdtempSync('/dev/shm/g1-')
const c = () => column.string({ redaction: 'PLAIN_TEXT', token: 'random' })
const schema = defineSchema({ p: { a: column.string({ redaction: 'PLAIN_TEXT', token: 'random',  }), b: c(), c: c(), d: c(), e: c(), f: column.string({ redaction: 'PLAIN_TEXT' }) } })
const vault = await createVault({ id: 'v', schema, storage: storage === 'memory' ? memoryStorage() : sqliteStorage({ filename: dir + '/v.db' }), keys: localKeys({ key: Buffer.from(Array.from({length:32},(_, i)=>(i*37+11)%256)).toString('base64') }), ...(audit === 'off' ? { audit: 'off' } : {}) } as never)
const s = vault.as({ actor: 'x', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] }) as any
const person = (i: number) => ({ a: 'name ' + i, b: 'street ' + i, c: 'x'.repeat(20), d: 'mail' + i + '@example.org', e: '+46 ' + i, f: 'note' })
const ids: string[] = [], tokens: string[] = []
for (let n = 0; n < 100; n++) for (const r of (await s.insert('p', Array.from({ length: 1000 }, (_, i) => ({ fields: person(n * 1000 + i) })), { tokenization: true })).records) { ids.push(r.id); tokens.push(r.tokens.a) }
let k = 0
const next = () => (k = (k + 7919) % ids.length)
const ops: Record<string, () => Promise<unknown>> = {
  get: () => s.get('p', { ids: [ids[next()]] }),
  detokenize: () => s.detokenize([{ token: tokens[next()], redaction: 'PLAIN_TEXT' }]),
  equals: () => s.query("SELECT b FROM p WHERE a = 'name " + next() + "'"),
  insert: () => s.insert('p', [{ fields: person(next()) }], { tokenization: true }),
  update: () => s.update('p', ids[next()], { fields: { b: 'st ' + k } }),
  list25: () => s.get('p', { ids: Array.from({ length: 25 }, () => ids[next()]) }),
  none: async () => {},
}
const call = ops[op!]!
const n = Number(rounds)
console.error((await call()) === undefined ? '' : '')
async function run(n: number) { for (let i = 0; i < n; i++) await call() }
async function run64(n: number) { for (let i = 0; i < n; i += 64) await Promise.all(Array.from({ length: 64 }, call)) }
const go = process.argv[6] === '64' ? run64 : run
await go(n)
if (globalThis.gc) gc()
const u = process.cpuUsage(), w = performance.now(); await go(n); const d = process.cpuUsage(u)
console.log(storage, audit, op, 'cpu', ((d.user + d.system) / n).toFixed(2), 'wall', ((performance.now() - w) * 1000 / n).toFixed(2))
await vault.close(); rmSync(dir, { recursive: true })
