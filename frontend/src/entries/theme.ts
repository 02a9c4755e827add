// Sets the theme before the first paint: loaded as a blocking script in <head>, so that no page flashes.
import { apply, chosen } from '../lib/theme';

apply(chosen());
