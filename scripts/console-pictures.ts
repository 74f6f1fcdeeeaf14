/** Makes the pictures of docs/console.md: opens the vault of the quickstart in Chromium and goes through the pages. `npm run console-pictures` */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openShownVault } from '../examples/console-vault.ts'
import { localKeys } from '../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../src/adapters/memory/index.ts'
import { openConsoleOn } from '../test/support/console/open-console.ts'
import { TEST_SECRET } from '../test/support/vaults/test-vault.ts'

const FOLDER = join(import.meta.dirname, '../docs/console')

/** One picture: who looks, where, and what they do before it is taken. */
interface Picture {
  readonly caller?: 'owner' | 'privacy desk' | 'support'
  readonly path?: string
  readonly options?: BrowserContextOptions
  before?(page: Page): Promise<void>
}

const NARROW = { viewport: { width: 390, height: 780 } } as const
const DARK = { colorScheme: 'dark' } as const

/** Goes to a cell of the grid by keys. */
async function goToCell(page: Page, row: number, column: number): Promise<void> {
  const grid = page.getByRole('grid')
  await grid.getByRole('row').nth(2).waitFor()
  await grid.focus()
  for (let at = 0; at < row; at++) await page.keyboard.press('ArrowDown')
  for (let at = 0; at < column; at++) await page.keyboard.press('ArrowRight')
}

async function reveal(page: Page, row: number, purpose: string): Promise<void> {
  await page.keyboard.press('r')
  await page.getByLabel('Why do you need it?').fill(purpose)
  if (row >= 0) await page.keyboard.press('Enter')
}

const PICTURES: Readonly<Record<string, Picture>> = {
  'sign-in': {},
  tables: {
    caller: 'privacy desk',
    async before(page) {
      await goToCell(page, 3, 3)
      await reveal(page, 0, 'Payment failed')
      await page.getByText('Hide 1 revealed').waitFor()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowDown')
      await reveal(page, -1, 'Case 4711, caller verified')
    },
  },
  'tables-dark': { caller: 'support', options: DARK, before: (page) => goToCell(page, 2, 2) },
  narrow: { caller: 'support', options: NARROW },
  record: {
    caller: 'privacy desk',
    async before(page) {
      await goToCell(page, 3, 3)
      await page.keyboard.press('Enter')
      await page.getByText('phone').first().waitFor()
    },
  },
  query: {
    caller: 'privacy desk',
    path: '/query',
    async before(page) {
      await page.locator('.cm-content').click()
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type("SELECT name, phone, country, risk FROM customers WHERE country = 'Brazil' LIMIT 25")
      await page.keyboard.press('Escape')
      await page.keyboard.press('ControlOrMeta+Enter')
      await page.getByText('records').first().waitFor()
    },
  },
  tokens: { caller: 'privacy desk', path: '/tokens' },
  policy: { caller: 'owner', path: '/policy' },
  audit: { caller: 'privacy desk', path: '/audit' },
  operations: { caller: 'owner', path: '/ops' },
}

const names = process.argv.slice(2)
const { vault, keys } = await openShownVault(memoryStorage(), localKeys({ key: TEST_SECRET }))
const opened = await openConsoleOn({ vault, keys: Object.fromEntries(keys) })
mkdirSync(FOLDER, { recursive: true })
try {
  for (const [name, { caller, path = '', options, before }] of Object.entries(PICTURES)) {
    if (names.length > 0 && !names.includes(name)) continue
    const { page } = caller === undefined ? await opened.tab(path, options) : await opened.signedIn(caller, path, options)
    await page.evaluate('document.fonts.ready')
    await before?.(page)
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: join(FOLDER, `${name}.png`) })
    await page.context().close()
  }
} finally {
  await opened.close()
}
