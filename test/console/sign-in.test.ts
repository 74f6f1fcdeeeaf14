/** The sign-in page in a real Chromium. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { CHROMIUM, type OpenedConsole, openConsole } from '../support/console/open-console.ts'

describe.skipIf(CHROMIUM === undefined)('the sign-in page', () => {
  let opened: OpenedConsole
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterAll(() => opened?.close())

  it.each(['light', 'dark'] as const)('is accessible in %s, silent, and asks this server only', async (colorScheme) => {
    const { page, messages, requests } = await opened.tab('', { colorScheme })
    await page.getByRole('heading', { name: 'acme' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    expect(messages).toEqual([])
    expect(requests.filter((url) => !url.startsWith(opened.url))).toEqual([])
  })

  it('says that the vault does not accept a wrong credential', async () => {
    const { page } = await opened.tab()
    await page.getByLabel('API key').last().fill('sr_not-a-key')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('alert').textContent()).toMatch(/^The vault does not accept this credential\./)
  })
})
