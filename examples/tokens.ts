/** Every kind of token: what it looks like, whether equal values share it, what it leads back to, and how it dies. */
import { randomBytes } from 'node:crypto'
import { column, createVault, defineSchema, isVaultError } from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'
import { heading, line, table } from './terminal.ts'

let now = BigInt(Date.now()) * 1_000_000n
const emails = { token: 'deterministic', columnGroup: 'emails', normalise: ['trim', 'lowercase'] } as const
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
  keys: localKeys({ secret: randomBytes(32).toString('base64') }),
  clock: { now: () => now },
})
const session = vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })

heading('1. One customer, stored twice: which tokens are the same?')
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
if (first === undefined || second === undefined) throw new Error('nothing was stored')
table([fields])
line('')
table([first.tokens])
line('')
table([second.tokens])

heading('2. A column group: the same address has the same token in another table')
const reader = await session.insert('newsletters', [{ fields: { reader: 'ANN@acme.example' } }], { tokenization: true })
table(reader.records.map(({ tokens }) => tokens))
const asked = await session.tokenize([{ value: 'ann@acme.example', columnGroup: 'emails' }])
line(`Asked for by its value: ${String(asked.records[0]?.token === first.tokens.email)}`)

heading('3. Back to values, each at a level')
for (const [name, token] of Object.entries(first.tokens)) line(`${token}  ${await plain(token)}  (${name})`)

heading('4. Tokens of your own')
const own = await session.insert('customers', [{ fields: { name: 'Bo Ek' }, tokens: { name: 'crm-17' } }], { byot: 'ENABLE' })
line(`crm-17 stands for ${await plain('crm-17')}.`)
const [found] = (await session.getByTokens(['crm-17'])).records
line(`It stands in the record it was brought for: ${String(found?.id === own.records[0]?.id)}.`)

heading('5. How they die')
await session.update('customers', first.id, { fields: { name: 'Ann Ek', phone: '+46 70 765 43 21' } })
line(
  `After an update: the name's token leads to ${await plain(first.tokens.name)}, the phone's, which is stable, to ${await plain(first.tokens.phone)}.`,
)
now += 30n * 60_000_000_000n
line(
  `After 30 minutes: the verification code's token leads to ${await plain(first.tokens.cvv)}; ${(await vault.sweep()).expired} values were swept.`,
)
await session.delete('customers', '*')
line(
  `With the customers gone: the card's token leads to ${await plain(first.tokens.card)}, the address's still to ${await plain(first.tokens.email)},`,
)
await session.delete('newsletters', '*')
line(`and after its last record to ${await plain(first.tokens.email)}.`)
await vault.close()

/** What a token stands for, in plain text. */
async function plain(token = ''): Promise<string> {
  try {
    const answer = await session.detokenize([{ token, redaction: 'PLAIN_TEXT' }])
    return answer.records[0]?.value ?? ''
  } catch (error) {
    if (isVaultError(error, 'not_found')) return 'nothing'
    throw error
  }
}
