/** Every page of the console as every caller sees it: accessible, silent, from this server alone, and without a byte of what they must not see. On PostgreSQL too; there, axe does not look again at what is drawn alike. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import type { OperationInput, Vault } from '../../src/index.ts'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { type ConsoleCaller, type ConsoleVault, CUSTOMERS, openConsoleVault } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsoleOn, type Tab } from '../support/console/open-console.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { openStorage } from '../support/storages/open-storage.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

/** Values that a caller must not see anywhere: whole ones of columns that they see masked, redacted or not at all. */
const HIDDEN: Readonly<Record<ConsoleCaller, readonly (keyof (typeof CUSTOMERS)[number])[]>> = {
  owner: [],
  desk: ['ssn'],
  support: ['name', 'email', 'phone', 'ssn', 'address'],
  analyst: ['name', 'email', 'phone', 'ssn', 'address'],
  auditor: ['name', 'email', 'phone', 'ssn', 'address'],
  newcomer: ['name', 'email', 'phone', 'ssn', 'address'],
}

/** Whole values of the columns, without those that look like masks. */
function markersFor(caller: ConsoleCaller): string[] {
  const values = CUSTOMERS.flatMap((customer) => HIDDEN[caller].map((column) => customer[column]))
  return values.filter((value): value is string => typeof value === 'string' && !value.includes('*'))
}

const LOOKS: readonly (readonly [string, ConsoleCaller, BrowserContextOptions])[] = [
  ['light', 'owner', {}],
  ['light', 'desk', {}],
  ['light', 'support', {}],
  ['light', 'analyst', {}],
  ['light', 'auditor', {}],
  ['light', 'newcomer', {}],
  ['dark', 'owner', { colorScheme: 'dark' }],
  ['narrow', 'owner', { viewport: { width: 390, height: 780 } }],
  ['less motion, forced colors', 'desk', { reducedMotion: 'reduce', forcedColors: 'active' }],
]

/** Chromium itself makes a styled element in an editor all of whose text is replaced by typing. The policy refuses the style; nothing is lost. */
const OF_THE_EDITOR = /style-src-attr/

describe.skipIf(CHROMIUM === undefined)('every page', () => {
  let folder: string | undefined
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'strongroom-console-'))
    const vault = await openConsoleVault({ storage: openStorage({ engine: 'sqlite', filename: join(folder, 'vault.db') }) })
    opened = { ...vault, ...(await openConsoleOn(vault)) }
  })
  afterEach(() => opened?.release())
  afterAll(async () => {
    await opened?.close()
    if (folder !== undefined) rmSync(folder, { recursive: true })
  })

  /** Goes through the pages of a signed-in tab, and calls back on each. */
  async function walk(page: Page, customers: readonly string[], visit: (name: string) => Promise<void>): Promise<string[]> {
    const paths = await page
      .locator('.nav a:visible')
      .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).pathname))
    // The one that the analyst sees too.
    const record = customers[CUSTOMERS.findIndex(({ country }) => country === 'SE')]
    const all = paths.some((path) => path.endsWith('/customers')) ? [...paths, `/console/tables/customers/${record}`] : paths
    for (const path of all) {
      await page.evaluate((to) => {
        history.pushState(null, '', to)
        dispatchEvent(new PopStateEvent('popstate'))
      }, path)
      await page.waitForLoadState('networkidle')
      await page.locator('h1').waitFor()
      await visit(path)
    }
    return all
  }

  /** Goes through the pages of a tab. */
  async function expectClean(
    tab: Tab,
    caller: ConsoleCaller,
    { url, customers }: Pick<OpenedConsole & ConsoleVault, 'url' | 'customers'>,
    faultsOf = accessibilityFaults,
  ): Promise<void> {
    const { page, messages, requests, received } = tab
    const faults: Record<string, unknown> = {}
    const drawn: string[] = []
    const all = await walk(page, customers, async (path) => {
      const found = await faultsOf(page)
      if (found.length > 0) faults[path] = found
      drawn.push(await page.content(), page.url(), await page.title())
      const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (width > 0) faults[`${path} is too wide`] = width
    })
    expect(all.length).toBeGreaterThan(2)
    expect(faults).toEqual({})
    expect(messages.filter((text) => !OF_THE_EDITOR.test(text))).toEqual([])
    expect(requests.filter((asked) => new URL(asked).origin !== new URL(url).origin)).toEqual([])
    const bytes = [await received(), ...drawn].join('\n')
    expect(bytes).toContain('acme')
    expect(
      markersFor(caller).filter((marker) => bytes.includes(marker) || bytes.includes(JSON.stringify(marker).slice(1, -1))),
    ).toEqual([])
  }

  it.each(LOOKS)('is clean in %s for %s', async (_look, caller, options) => {
    const tab = await opened.signedIn(caller, '', options)
    await expectClean(tab, caller, opened)
  })

  it('is clean on PostgreSQL', async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    const vault = await openConsoleVault({ storage: openStorage({ engine: 'postgres', url: database.url }) })
    const served = await openConsoleOn(vault)
    await expectClean(await served.signedIn('owner'), 'owner', { ...vault, ...served }, async () => [])
    await served.close()
    await database.drop()
  })

  it('of a server that sends plain text because the page hides it is found', async () => {
    const { vault, keys } = await openConsoleVault()
    const owner = vault.as(OWNER)
    // The planted fault: for every caller, a page of records has what the owner may see.
    const faulty: Vault = {
      ...vault,
      as: (caller) => ({
        ...vault.as(caller),
        perform: (name, input) => {
          const { options, ...others } = input as OperationInput<'get'>
          return name === 'get'
            ? owner.perform(name, { ...others, options: { ...options, redaction: 'PLAIN_TEXT' } } as typeof input)
            : vault.as(caller).perform(name, input)
        },
      }),
    }
    const served = await openConsoleOn({ vault: faulty, keys })
    const { page, received } = await served.signedIn('support', '/tables/customers')
    await page.locator('#cell-1-1 > span:not(.skeleton)').waitFor()
    const bytes = await received()
    expect(markersFor('support').filter((marker) => bytes.includes(marker)).length).toBeGreaterThan(3)
    await served.close()
  })
})
