/** Pages of the console beside their stored layouts: boxes, type and colors. Pictures of two machines differ in the edges of letters; these do not. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ConsoleCaller, ConsoleVault } from '../support/console/console-vault.ts'
import { layoutChanges } from '../support/console/layout-of.ts'
import { CHROMIUM, type OpenedConsole, openConsole } from '../support/console/open-console.ts'

const DARK = { colorScheme: 'dark' } as const
const NARROW = { viewport: { width: 390, height: 780 } } as const

/** The look of a page: who sees it, where, and what they do before. */
interface Look {
  readonly caller?: ConsoleCaller
  readonly path?: string
  readonly options?: BrowserContextOptions
  before?(page: Page): Promise<void>
}

const rows = (page: Page): Promise<void> => page.getByRole('row').nth(6).waitFor()

const noRecords = (page: Page): Promise<void> => page.getByText('No records yet.').waitFor()

const LOOKS: Readonly<Record<string, Look>> = {
  'sign-in': {},
  'sign-in-narrow-dark': { options: { ...NARROW, ...DARK } },
  'customers-of-the-desk': { caller: 'desk', path: '/tables/customers', before: rows },
  'customers-of-support-dark': { caller: 'support', path: '/tables/customers', options: DARK, before: rows },
  'customers-narrow': { caller: 'desk', path: '/tables/customers', options: NARROW, before: rows },
  'no-records': { caller: 'desk', path: '/tables/disputes', before: noRecords },
  keys: {
    caller: 'owner',
    path: '/tables/disputes',
    async before(page) {
      await noRecords(page)
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
    },
  },
}

describe.skipIf(CHROMIUM === undefined)('the layout', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  it.each(Object.entries(LOOKS))('of %s is the stored one', async (name, { caller, path, options, before }) => {
    const { page } = caller === undefined ? await opened.tab(path, options) : await opened.signedIn(caller, path, options)
    await before?.(page)
    await page.waitForLoadState('networkidle')
    expect(await layoutChanges(page, name), 'If the page should look so: UPDATE_LAYOUTS=1').toEqual([])
  })

  it('that changes is named by element', async () => {
    // What is stored stays.
    vi.stubEnv('UPDATE_LAYOUTS', '')
    const { page } = await opened.tab('', {})
    // The planted fault: a wider frame around the field, and another color of the button.
    await page.evaluate(() => {
      for (const one of document.querySelectorAll<HTMLElement>('.input')) one.style.width = '300px'
      for (const one of document.querySelectorAll<HTMLElement>('.button')) one.style.color = 'red'
    })
    const changes = await layoutChanges(page, 'sign-in')
    expect(changes.map((one) => one.replace(/:.*/, ''))).toEqual(['input', 'button Sign in'])
  })
})
