/** The vault that the examples of servers share: customers in memory, and one API key that a real host would keep elsewhere. */
import { timingSafeEqual } from 'node:crypto'
import { column, createVault, defineSchema, mask } from 'strongroom'
import type { Authenticate } from 'strongroom/http'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'

const EXAMPLE_KEY = process.env.EXAMPLE_KEY ?? 'TEST_SECRET-of-the-examples'

export const vault = await createVault({
  id: 'customers',
  schema: defineSchema({
    customers: {
      name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
      email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email }),
    },
  }),
  storage: memoryStorage(),
  keys: localKeys({ key: Buffer.alloc(32, 'TEST_SECRET').toString('base64') }),
})

/** A caller that has the key owns the vault. */
export const authenticate: Authenticate = async ({ credential }) => {
  const [given, known] = [Buffer.from(credential), Buffer.from(EXAMPLE_KEY)]
  if (given.length !== known.length || !timingSafeEqual(given, known)) return { refused: 'another key' }
  return {
    caller: { actor: 'example', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] },
    credential: { authMode: 'API_KEY', keyID: 'example' },
  }
}

/** The port to listen on: PORT of the environment, or 3000. */
export const port = Number(process.env.PORT ?? 3000)

/** Says where the server is. */
export function announce(address: string | { readonly port: number } | null | undefined): void {
  const listening = typeof address === 'object' ? address?.port : address
  console.log(`The vault is at http://127.0.0.1:${listening}/vault/v1/vaults/customers/customers`)
}
