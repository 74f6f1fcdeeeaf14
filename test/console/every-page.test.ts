/** Every page of the console as every caller sees it: accessible, silent, from this server alone, and without a byte of what they must not see. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { type ConsoleCaller, type ConsoleVault, CUSTOMERS, openConsoleVault } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsole, openConsoleOn } from '../support/console/open-console.ts'

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

/** What Chromium itself does in an editor when all of it is replaced by typing; see docs/console.md. */
const OF_THE_EDITOR = /style-src-attr/

describe.skipIf(CHROMIUM === undefined)('every page', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterAll(() => opened?.close())

  /** Goes through the pages of a signed-in tab, and calls back on each. */
  async function walk(page: Page, visit: (name: string) => Promise<void>): Promise<string[]> {
    const paths = await page
      .locator('.nav a:visible')
      .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).pathname))
    const [record] = opened.customers
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

  it.each(LOOKS)('is clean in %s for %s', async (_look, caller, options) => {
    const { page, messages, requests, received } = await opened.signedIn(caller, '', options)
    const faults: Record<string, unknown> = {}
    const drawn: string[] = []
    const all = await walk(page, async (path) => {
      const found = await accessibilityFaults(page)
      if (found.length > 0) faults[path] = found
      drawn.push(await page.content(), page.url(), await page.title())
      const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (width > 0) faults[`${path} is too wide`] = width
    })
    expect(all.length).toBeGreaterThan(2)
    expect(faults).toEqual({})
    expect(messages.filter((text) => !OF_THE_EDITOR.test(text))).toEqual([])
    expect(requests.filter((url) => new URL(url).origin !== new URL(opened.url).origin)).toEqual([])
    const bytes = [await received(), ...drawn].join('\n')
    expect(bytes).toContain('acme')
    expect(
      markersFor(caller).filter((marker) => bytes.includes(marker) || bytes.includes(JSON.stringify(marker).slice(1, -1))),
    ).toEqual([])
    await page.context().close()
  })

  it('of a server that sends plain text because the page hides it is found', async () => {
    // The planted fault: support is granted plain text, and only the page would hide it.
    const vault = await openConsoleVault({ roles: { support: ['ALLOW READ ON customers.* WITH REDACTION = PLAIN_TEXT'] } })
    const faulty = await openConsoleOn(vault)
    const { page, received } = await faulty.signedIn('support', '/tables/customers')
    await page.waitForLoadState('networkidle')
    const bytes = await received()
    expect(markersFor('support').filter((marker) => bytes.includes(marker)).length).toBeGreaterThan(0)
    await faulty.close()
  })
})
