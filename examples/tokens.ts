/** Every kind of token: its form, whether equal values share it, what it resolves to, and when it becomes invalid. */
import { randomBytes } from 'node:crypto'
import { column, createVault, defineSchema, isVaultError } from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'
import { heading, line, table } from './terminal.ts'

let now = BigInt(Date.now()) * 1_000_000n
const emails = { token: 'deterministic', columnGroup: 'emails', normalize: ['trim', 'lowercase'] } as const
const vault = await createVault({
  id: 'tokens',
  schema: defineSchema({
    customers: {
      name: column.string({ token: 'random' }),
      email: column.string(emails),
      ssn: column.string({ token: { kind: 'formatPreserving', format: 'ssn' } }),
      phone: column.string({ token: { kind: 'formatPreserving', format: 'phone', stable: true } }),
      card: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'card' } }),
      born: column.date({ token: { kind: 'deterministicFormatPreserving', format: 'date' } }),
      account: column.string({ token: { kind: 'formatPreserving', format: { pattern: 'ACC-[A-Z]{2}-[0-9]{6}' } } }),
      cvv: column.string({ token: { kind: 'transient', ttlMinutes: 30 } }),
    },
    newsletters: { reader: column.string(emails) },
  }),
  storage: memoryStorage(),
  keys: localKeys({ key: randomBytes(32).toString('base64') }),
  clock: { now: () => now },
})
const session = vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })

heading('1. One customer stored twice: which tokens are equal?')
const fields = {
  name: 'Ann Lee',
  email: 'ann@acme.example',
  ssn: '123-45-6789',
  phone: '+46 70 123 45 67',
  card: '4111 1111 1111 1111',
  born: '1990-02-28',
  account: '12-345',
  cvv: '737',
}
const { records } = await session.insert('customers', [{ fields }, { fields }], { tokenization: true })
const [first, second] = records
if (first === undefined || second === undefined) throw new Error('The insert returned fewer than two records.')
table([fields])
line('')
table([first.tokens])
line('')
table([second.tokens])

heading('2. A column group: equal addresses have the same token in another table')
const reader = await session.insert('newsletters', [{ fields: { reader: 'ANN@acme.example' } }], { tokenization: true })
table(reader.records.map(({ tokens }) => tokens))
const tokenized = await session.tokenize([{ value: 'ann@acme.example', columnGroup: 'emails' }])
line(`tokenize returns the same token: ${String(tokenized.records[0]?.token === first.tokens.email)}`)

heading('3. Detokenize')
for (const [name, token] of Object.entries(first.tokens)) line(`${token}  ${await plain(token)}  (${name})`)

heading('4. Bring your own token (BYOT)')
const own = await session.insertOne('customers', { name: 'Bo Ek' }, { tokens: { name: 'crm-17' }, byot: 'ENABLE' })
line(`crm-17 resolves to ${await plain('crm-17')}.`)
const [found] = (await session.getByTokens(['crm-17'])).records
line(`getByTokens finds its record: ${String(found?.id === own.id)}.`)

heading('5. When tokens become invalid')
await session.updateOne('customers', first.id, { name: 'Ann Ek', phone: '+46 70 765 43 21' })
line(
  `After an update: the token of the name resolves to ${await plain(first.tokens.name)}, the stable token of the phone to ${await plain(first.tokens.phone)}.`,
)
now += 30n * 60_000_000_000n
line(
  `After 30 minutes: the token of the verification code resolves to ${await plain(first.tokens.cvv)}; ${(await vault.sweep()).transients} expired values are deleted.`,
)
await session.delete('customers', '*')
line(`After the customers are deleted: the token of the card resolves to ${await plain(first.tokens.card)}.`)
line(`The newsletter still has the address, so its token resolves to ${await plain(first.tokens.email)}.`)
await session.delete('newsletters', '*')
line(`After the newsletter is deleted: the token of the address resolves to ${await plain(first.tokens.email)}.`)
await vault.close()

/** Returns the plain text of a token, or `nothing` if the token is invalid. */
async function plain(token = ''): Promise<string> {
  try {
    const resolved = await session.detokenize([{ token, redaction: 'PLAIN_TEXT' }])
    return resolved.records.map(({ value }) => value).join()
  } catch (error) {
    if (isVaultError(error, 'not_found')) return 'nothing'
    throw error
  }
}
