/** A vault of values that a page can draw wrong: what looks masked and is not, markup, long and right-to-left text, JSON, null and big numbers. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { createApiKey } from '../../../src/http/index.ts'
import { column, createVault, defineSchema, mask, type Vault } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** Markup that runs where text is taken for it. */
export const MARKUP = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"

const PLAIN = { redaction: 'PLAIN_TEXT' } as const

const schema = defineSchema({
  odd: {
    text: column.string({ ...PLAIN, searchable: true, maxLength: 20_000 }),
    hidden: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1) }),
    sealed: column.string({ redaction: 'REDACTED' }),
    big: column.integer(PLAIN),
    price: column.decimal({ ...PLAIN, scale: 2 }),
    ratio: column.float(PLAIN),
    flag: column.boolean(PLAIN),
    day: column.date(PLAIN),
    things: column.json(PLAIN),
    scan: column.file(PLAIN),
  },
})

/** Whole texts of the column `text`, in the order of their records. */
export const TEXTS = [
  'A*******',
  '*REDACTED*',
  MARKUP,
  'ليلى حسن',
  `${'é'.repeat(5_000)} end`,
  '',
  'line 1\nline 2',
  '\u200b\u202eSE',
] as const

/** The name of the file of the first record: a slash would end a folder. */
export const FILE_NAME = '<img src=x onerror=alert(1)>.pdf'

/** A secret that no role but the owner may see, in three forms of the column `hidden`. */
export const SECRET = 'Zebra-secret'

/** The vault, with an API key for its owner and for a reader. */
export async function openOddVault() {
  const vault: Vault = await createVault({
    id: 'odd',
    schema,
    policy: {
      [`reader ${MARKUP}`]: [
        `ALLOW READ ON odd.text, odd.hidden, odd.sealed, odd.things WITH REDACTION = MASKED WHERE NOT text = '${MARKUP.replaceAll("'", "''")}x'`,
        'ALLOW READ ON odd.big WITH REDACTION = PLAIN_TEXT',
      ],
    },
    storage: memoryStorage(),
    keys: localKeys({ key: TEST_SECRET }),
  })
  const owner = vault.as(OWNER)
  const { records } = await owner.insert(
    'odd',
    TEXTS.map((text, at) => ({
      fields: {
        text,
        hidden: `${SECRET} ${at}`,
        sealed: `${SECRET} sealed`,
        big: 9_007_199_254_740_993n + BigInt(at),
        price: '1234567890123456.78',
        ratio: 0.5,
        flag: true,
        day: '2026-03-02',
        things: { markup: MARKUP, deep: [1, null, { 'key "quoted"': '👩‍👩‍👧' }] },
      },
    })),
    { allowShownText: true },
  )
  const ids = records.map(({ id }) => id)
  await owner.uploadFile({
    table: 'odd',
    column: 'scan',
    id: ids[0] ?? '',
    file: Buffer.from('%PDF-1.4 odd'),
    fileName: FILE_NAME,
  })
  const keyOf = async (name: string, role: string) => (await createApiKey(owner, { name, roles: [role] })).apiKey
  return {
    vault,
    ids,
    keys: { owner: await keyOf(`owner ${MARKUP}`, 'VAULT_OWNER'), reader: await keyOf('reader', `reader ${MARKUP}`) },
  }
}
