/** A policy and the audit trail: what each caller sees, what is refused, and the events of it. */
import { randomBytes } from 'node:crypto'
import { column, createVault, defineSchema, isVaultError, mask } from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'
import { readChinook } from './chinook.ts'
import { heading, line, table } from './terminal.ts'

const vault = await createVault({
  id: 'audited',
  schema: defineSchema({
    customers: {
      name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1) }),
      email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email }),
      phone: column.string({ redaction: 'MASKED', mask: mask.keepLast(4) }),
      country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    },
  }),
  storage: memoryStorage(),
  keys: localKeys({ key: randomBytes(32).toString('base64') }),
  policy: {
    clerk: ['ALLOW READ ON customers.* WHERE country = ctx.country'],
    auditor: ['ALLOW AUDIT ON *'],
  },
})
const owner = vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
const clerk = vault.as({ actor: 'bo@acme.example', actorType: 'USER', roles: ['clerk'], context: { country: 'Canada' } })
const auditor = vault.as({ actor: 'cy@acme.example', actorType: 'USER', roles: ['auditor'] })

const { customers } = readChinook()
const stored = await owner.insert(
  'customers',
  customers.map(({ name, email, phone, country }) => ({ fields: { name, email, phone, country } })),
)

heading('1. One record, two callers')
const canadian = idOfFirst('Canada')
table([
  { caller: 'the owner', ...(await owner.getOne('customers', canadian, { redaction: 'PLAIN_TEXT' })).fields },
  { caller: 'a clerk', ...(await clerk.getOne('customers', canadian, { redaction: 'PLAIN_TEXT' })).fields },
])

heading('2. The clerk sees customers in Canada only')
const { records } = await clerk.get('customers', { limit: 1000 })
line(`The clerk sees ${records.length} of ${customers.length} customers. One of the others:`)
const brazilian = idOfFirst('Brazil')
await refused(clerk.getOne('customers', brazilian))

heading('3. What no statement allows is refused')
await refused(clerk.updateOne('customers', canadian, { name: 'Changed Name' }))
await refused(clerk.listEvents({ filterOps: { accountID: 'audited' } }))

heading('4. The trail records every operation, without values')
const { events } = await auditor.listEvents({ filterOps: { accountID: 'audited' }, sortOps: { orderBy: 'ASCENDING' } })
for (const { context, request, response } of events) {
  line(`${context.actor.padEnd(16)}  ${request.actionType.padEnd(11)}  ${response.code}  ${request.resources[0]}`)
}
line('')
line(`The response data of the first event: ${events[0]?.response.data?.content}`)

heading('5. Verifying the trail')
const { ok, eventCount: count } = await vault.verifyAudit()
line(`verifyAudit: ${ok ? 'ok' : 'failed'}, ${count} events.`)
await vault.close()

/** Returns the record id of the first customer in a country. */
function idOfFirst(name: string): string {
  const record = stored.records[customers.findIndex(({ country }) => country === name)]
  if (record === undefined) throw new Error(`No customer in ${name} is stored.`)
  return record.id
}

/** Prints the error of a call. */
async function refused(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!isVaultError(error)) throw error
    line(`${error.code}: ${error.message}`)
  }
}
