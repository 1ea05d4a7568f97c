// What every view needs. The bundler puts these modules into one script, which the browser loads with the first view.
import "./api";
import "./format";
import "./live";
import "./router";
import "./signal";
import "./ui/base";
import "./ui/later";
import "./ui/pictures";
import "./ui/theme";
